"""The formula of an encoding with the numbers of one position in it; measures of whole tables live one folder up."""
