"""How objects come and go with few requests: in ranges, in parts, page by page, from memory.

The main nouns are ObjectReader, of which Arrow reads (``ranges.py``), and ObjectWriter, to which it
writes (``sinks.py``). Which requests there are is known in ``calls.py`` above.
"""
