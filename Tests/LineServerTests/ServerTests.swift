import Testing

/// Tests over real sockets run one after the other: some of them fill buffers or count a process's resources.
@Suite(.serialized) struct ServerTests {}
