def normal_form(text):
    """The text of a plain tree's normal form; None for all that the parser has to read."""
    cdef string form
    cdef Py_ssize_t size
    cdef const char* data
    try:
        data = PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        return None  # half a surrogate pair
    return <bytes> form if read_normal_form(string_view(data, size), form) else None


def plan_tree(str text not None):
    """The unit and the program's bytes of a plain tree, or None: what the kernel makes by itself.

    For tests, which compare them with those of ``plan`` and ``program``.
    """
    cdef bytes code = text.encode()
    cdef Tree tree
    cdef Program program
    cdef string_view view = _view_of(code)
    if not TreeText.read(view, tree) or not TreeProgram.make(view, program):
        return None
    cdef UnitPlan unit = TreePlan.make(tree)
    branches = tuple(
        (
            branch.path,
            branch.predicate if branch.is_probe else None,
            None if branch.above == _NOWHERE else branch.above,
        )
        for branch in unit.branches
    )
    return (unit.needs_check, branches), ProgramWriter.write(program)
