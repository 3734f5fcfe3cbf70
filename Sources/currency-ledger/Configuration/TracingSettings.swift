import TraceExport

/// Where spans of requests go, and of how many.
struct TracingSettings: Sendable {
    var endpoint: TraceEndpoint
    /// Of the requests whose sender does not say whether they are traced; from 0 to 1. One in a hundred shows what is
    /// slow, and costs next to nothing.
    var ratio = 0.01
}
