"""Checks, root searches, random sources and displays that hold nothing about privacy."""
