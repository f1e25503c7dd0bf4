"""Base files in ORC: written and read by Arrow, with what Arrow leaves out.

``file`` is the reader and writer; ``tail`` keeps Hudi's metadata in the footer, ``types`` maps
what ORC stores otherwise.
"""
