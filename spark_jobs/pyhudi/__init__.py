"""An Apache Hudi table engine in Python."""
