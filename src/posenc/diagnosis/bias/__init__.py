"""What is observed of a bias of distance, and the mistakes that change it; the search is one folder up."""
