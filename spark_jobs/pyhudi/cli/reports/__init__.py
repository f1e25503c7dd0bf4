"""What each command gathers: a function of an open table and what was asked, to a Report.

Nothing here prints; what is told is read from the timeline and from listings, and rows only where
nothing else knows the answer.
"""
