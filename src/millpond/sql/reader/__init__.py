"""Statements, read by recursive descent: a module for each group of statements, one method for each statement.

`parser` chooses the method by a statement's leading words.
"""
