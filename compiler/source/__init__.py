"""Text in, documents with positions out: the only importer of YAML parsers."""

from compiler.source.documents import Document, Object, Place, flatten, read_documents
from compiler.source.text import Text, decode
from compiler.source.yaml11 import read_by_1_1

__all__ = ["Document", "Object", "Place", "Text", "decode", "flatten", "read_by_1_1", "read_documents"]
