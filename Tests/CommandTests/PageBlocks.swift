import Foundation

/// The fenced blocks of a page, as a newcomer copies them.
struct PageBlocks {
    /// One command of a `console` block, and what it says on the page.
    struct Step {
        var command: String
        var output: String
    }

    struct Block {
        var language: String
        var text: String

        /// What a `console` block shows: each command begins with `$ `, what follows is its output.
        var steps: [Step] {
            var steps: [Step] = []
            for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
                if line.hasPrefix("$ ") {
                    steps.append(Step(command: String(line.dropFirst(2)), output: ""))
                } else if !steps.isEmpty {
                    steps[steps.count - 1].output += line + "\n"
                }
            }
            return steps
        }
    }

    let blocks: [Block]

    /// - Parameter path: the page, from the repository's root on.
    init(_ path: String) throws {
        let page = try String(contentsOf: Command.root.appendingPathComponent(path), encoding: .utf8)
        var blocks: [Block] = []
        var isOpen = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isOpen.toggle()
                if isOpen { blocks.append(Block(language: String(line.dropFirst(3)), text: "")) }
            } else if isOpen {
                blocks[blocks.count - 1].text += line + "\n"
            }
        }
        self.blocks = blocks
    }

    /// Those of some languages, in the page's order.
    func blocks(in languages: Set<String>) -> [Block] { blocks.filter { languages.contains($0.language) } }
}
