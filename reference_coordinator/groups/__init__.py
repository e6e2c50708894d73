"""Groups: what all types have in common, and a folder for each type.

`group` is the interface and `group_metadata_manager` the registry. `dispatch` hands what comes to the type.
"""
