"""Files of a working folder, for the library and the exploration of code: globs, ignore rules, encodings, patterns.

`walk.py` lists what git would keep, `patterns.py` matches in linear time, `decode.py` makes text of bytes.
Nothing here knows what the files are read for.
"""
