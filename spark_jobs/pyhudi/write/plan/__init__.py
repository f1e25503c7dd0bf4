"""Which file every row goes to: decided from counts and sizes. Pure.

The main nouns are WorkloadProfile, what a batch brings, and BucketPlan, what the write makes of it.
"""
