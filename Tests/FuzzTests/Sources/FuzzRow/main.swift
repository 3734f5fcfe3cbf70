import FuzzTableProperties
import Fuzzing

/// libFuzzer's own `main`, which is not used, names this function.
@_cdecl("LLVMFuzzerTestOneInput")
public func check(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { Fuzzing.check(bytes, count) }

Fuzzing.main(.row)
