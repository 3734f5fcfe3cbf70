// A conformance of a public type is public, and so are the modules that it is made of.
public import ArgumentParser
public import LedgerTypes

extension ReportDates: ExpressibleByArgument {}

extension ReportScope: ExpressibleByArgument {}
