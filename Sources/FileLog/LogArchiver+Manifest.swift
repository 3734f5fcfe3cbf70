import Ledger

extension LogArchiver {
    /// Writes the digests that a writer could not write when it erased names in the archive. Only those of files that
    /// are, byte by byte, what their blocks make: anything else is damage, which an inspection names.
    func mendManifest(_ identity: Digest) throws(LogError) {
        guard let manifest = try ArchiveManifest.read(disk, archive) else { return }
        for entry in manifest.entries where try !hasDigest(entry) {
            try whileNothingIsErased { () throws(DiskError) in
                guard let digest = digest(of: entry, identity) else { return }
                // Read again: the writer may have written another one.
                guard var manifest = try? ArchiveManifest.read(disk, archive) else { return }
                guard var entry = manifest.entries.first(where: { $0.first == entry.first }) else { return }
                if entry.digest == digest { return }
                entry.digest = digest
                manifest.put(entry)
                try manifest.write(disk, archive)
            }
        }
    }

    /// A file that cannot be read has it not.
    private func hasDigest(_ entry: ArchiveManifest.Entry) throws(LogError) -> Bool {
        let path = archive.log + "/" + SegmentFile.name(entry.first)
        do { return try ArchiveManifest.digest(disk, path, hash) == entry.digest } catch { return false }
    }

    /// The SHA-256 of an archive's file whose blocks are those that the manifest says, all of them whole, and which has
    /// nothing else; `nil` of any other.
    private func digest(of entry: ArchiveManifest.Entry, _ identity: Digest) -> Digest? {
        do {
            let path = archive.log + "/" + SegmentFile.name(entry.first)
            let segment = try SegmentFile.open(disk, path, first: entry.first, identity, .reading)
            var image = SegmentImage(first: entry.first, identity: identity, previous: segment.header.previous)
            var before = segment.header.previous
            var window = ReadWindow(segment, stepBytes: FileLogLimits.readBytes, end: try segment.byteCount())
            for number in entry.first...entry.last {
                guard case .whole(let block, _) = try segment.record(at: image.bytes.count, &window, hash),
                    block.number == number, block.previous == before
                else { return nil }
                image.append(block)
                before = block.hash
            }
            guard before == entry.hash else { return nil }
            let digest = Digest(of: image.bytes, hash)
            return try ArchiveManifest.digest(disk, path, hash) == digest ? digest : nil
        } catch {
            return nil
        }
    }
}
