"""Kill it, fill its disk, spoil its files: does it go on, or refuse clearly, and lose nothing?"""
