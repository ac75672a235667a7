"""Audit of a loaded model: does it compute the same for the same tokens, however they are given?"""
