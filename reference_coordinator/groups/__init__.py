"""Groups: the code that all types have in common, and a folder for each type.

`group` is the interface, `group_metadata_manager` the registry. `dispatch` calls the code of a group's type.
"""
