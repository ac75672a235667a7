"""The formula of an encoding with the numbers of one position in it, step by step; measures of whole tables live one folder up."""
