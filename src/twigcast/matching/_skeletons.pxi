def read_skeletons(Documents documents not None, size_t largest):
    """The number of each document's skeleton, and the skeletons: text or None, and the root's name.

    A bad document has the number -1, and its error in ``documents.errors``.
    """
    cdef SkeletonBatch batch
    cdef size_t begin = 0, end = 0, size, count = documents.inputs.size()
    cdef SkeletonBuilder* builder = new SkeletonBuilder(_expat, _bounds(documents.limits), largest)
    try:
        # Only between stretches of work can a signal, such as Ctrl-C, be noticed.
        while begin < count:
            with nogil:
                size = 0
                while end < count and size < _BYTES_AT_ONCE:
                    size += documents.inputs[end].size
                    end += 1
                builder.read(documents.inputs, begin, end, batch)
            begin = end
            PyErr_CheckSignals()
    finally:
        del builder
    for failed in batch.failures:
        documents.errors[failed.first] = documents.refusal(failed.first, failed.second)
    skeletons = []
    for skeleton in batch.skeletons:
        text = skeleton.text.data()[: skeleton.text.size()] if skeleton.text.size() else None
        skeletons.append((text, skeleton.space.decode("utf-8"), skeleton.local.decode("utf-8")))
    return batch.numbers, skeletons
