"""The plan as a comment on a pull request, in GitHub's Markdown.

In the order of a reviewer's questions: what changes for a registry, what for a resource, what it costs.
"""

from compiler.render.markdown.comment import LIMIT, render

__all__ = ["LIMIT", "render"]
