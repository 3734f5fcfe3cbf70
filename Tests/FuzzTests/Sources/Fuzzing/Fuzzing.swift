import CLibFuzzer
import Foundation
public import FuzzProperties

/// One fuzz target: libFuzzer (https://llvm.org/docs/LibFuzzer.html) looks for bytes of which a property does not hold.
public enum Fuzzing {
    /// What the process looks for. It is set before libFuzzer begins.
    nonisolated(unsafe) private static var property = FuzzProperty.line

    /// Runs libFuzzer with the command's arguments; with `--seeds FOLDER` writes the seeds and the dictionary instead.
    public static func main(_ property: FuzzProperty) -> Never {
        self.property = property
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "--seeds" {
            do { try writeSeeds(to: URL(fileURLWithPath: arguments[2])) } catch {
                fatalError("writing seeds: \(error)")
            }
            exit(0)
        }
        var count = CommandLine.argc
        var values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &values) { Fuzzing.check($0, $1) })
    }

    /// Tries one input.
    fileprivate static func check(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        _ = property.check([UInt8](UnsafeBufferPointer(start: start, count: count)))
        return 0
    }

    /// Changes an input as its property knows how, in place.
    /// - Returns: how many bytes it has then.
    fileprivate static func change(
        _ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ countMax: Int, _ seed: CUnsignedInt
    ) -> Int {
        let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
        let changed = property.change(input, seed) { part in
            var memory = part + [UInt8](repeating: 0, count: max(countMax - count, 1))
            let left = LLVMFuzzerMutate(&memory, part.count, memory.count)
            return Array(memory.prefix(left))
        }
        let kept = changed.prefix(countMax)
        UnsafeMutableRawBufferPointer(start: start, count: countMax).copyBytes(from: kept)
        return kept.count
    }

    private static func writeSeeds(to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (number, seed) in property.seeds().enumerated() {
            try Data(seed).write(to: folder.appendingPathComponent("seed-\(number)"))
        }
        let lines = property.words.map { word in
            let bytes = word.utf8.map { "\\x\($0 < 16 ? "0" : "")\(String($0, radix: 16))" }
            return "\"\(bytes.joined())\"\n"
        }
        try Data(lines.joined().utf8).write(to: folder.appendingPathExtension("dict"))
    }
}

// What libFuzzer finds by name.

/// libFuzzer's own `main`, which is not used, names this function.
@_cdecl("LLVMFuzzerTestOneInput")
public func checkOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { Fuzzing.check(bytes, count) }

/// libFuzzer has this function change inputs.
@_cdecl("LLVMFuzzerCustomMutator")
public func changeInput(
    _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ countMax: Int, _ seed: CUnsignedInt
) -> Int { Fuzzing.change(bytes, count, countMax, seed) }
