def normal_form(str text not None):
    """The text of a plain tree's normal form; None for all that the parser has to read."""
    cdef string form
    cdef string_view view
    cdef bool is_plain_tree
    cdef Py_ssize_t size
    cdef const char* data
    try:
        data = PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        return None
    view = string_view(data, size)
    is_plain_tree = read_normal_form(view, form)
    return <bytes> form.data()[: form.size()] if is_plain_tree else None


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
