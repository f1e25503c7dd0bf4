"""How storages are reached: the options that each takes, and which settings nobody may see.

The noun is the setting, a name with a value. Nothing here opens a storage; it says what may be
given to one, and what of it may be shown.
"""
