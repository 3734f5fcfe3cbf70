import Foundation
import FuzzProperties
import FuzzTableProperties
import Testing

/// The fuzz targets' properties hold of their seeds and of all that was once found. A property that does not hold ends
/// the process. (One after the other: that of rows has tables of its own, one set for all.)
@Suite(.serialized) struct FuzzPropertyTests {
    private static let properties = FuzzProperty.all + [.row]
    private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("FuzzTests/Corpus")

    @Test(arguments: properties)
    func aFuzzerBeginsWithInputsThatAreAcceptedAndSomeThatAreNot(property: FuzzProperty) {
        let seeds = property.seeds()
        let accepted = seeds.count { property.check($0) }
        #expect(accepted > 0 && Set(seeds).count == seeds.count)
    }

    /// A part that is put back as it was is the same input. Some changes leave the part to nobody: a number becomes
    /// another, a section is taken out.
    @Test(arguments: [FuzzProperty.line, .jws, .payload, .block])
    func anInputIsChangedInItsParts(property: FuzzProperty) {
        for seed in property.seeds() {
            var parts: Set<[UInt8]> = []
            for step in UInt32(0)..<400 {
                let number = step &* 0x9E37_79B1
                var isAsked = false
                let same = property.change(seed, number) { part in
                    isAsked = true
                    parts.insert(part)
                    return part
                }
                #expect(same == seed || !isAsked, "change \(number)")
            }
            #expect(parts.contains(seed) && parts.count > 2)
        }
    }

    /// A file of the corpus is what a fuzzer once found, or an input of its own.
    @Test(arguments: properties)
    func thePropertyHoldsOfTheCorpus(property: FuzzProperty) throws {
        let folder = Self.corpus.appendingPathComponent(property.name)
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            print("\(property.name): \(file.lastPathComponent)")
            _ = property.check([UInt8](try Data(contentsOf: file)))
        }
    }
}
