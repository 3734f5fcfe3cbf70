import Fuzzing

/// libFuzzer's own `main`, which is not used, names this function.
@_cdecl("LLVMFuzzerTestOneInput")
public func check(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { Fuzzing.check(bytes, count) }

/// libFuzzer finds it by its name, and has it change inputs.
@_cdecl("LLVMFuzzerCustomMutator")
public func change(
    _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ countMax: Int, _ seed: CUnsignedInt
) -> Int { Fuzzing.change(bytes, count, countMax, seed) }

Fuzzing.main(.block)
