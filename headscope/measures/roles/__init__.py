"""Roles: one question "does this head attend to X?" per function.

A role says, for every token of a batch, which keys a head of that role should attend to: its
sieve. To add one, write a decorated function in a file of this folder, or in a file of your own
that you name with `--roles my_roles.py`::

    from headscope.measures.roles import RoleBatch, role

    @role("first_word", needs={"words"})
    def first_word(batch: RoleBatch) -> Tensor:
        \"\"\"The first word of the text.\"\"\"
        return (batch.tokens.words == 0)[:, None, :]
"""

from headscope.measures.roles.role import ROLES, Role, RoleBatch, RoleOptions, role
from headscope.measures.roles.user_file import load_roles

__all__ = ["ROLES", "Role", "RoleBatch", "RoleOptions", "load_roles", "role"]
