/// A country or region in ISO 3166-1: reports have two letters (alpha-2), signed transactions three (alpha-3).
public struct CountryCode: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Two capital letters.
    public let alpha2: String

    /// A country by its two capital letters. Any two are taken: Apple may sell where this list does not reach yet.
    public init?(alpha2: some StringProtocol) {
        guard CountryCode.areCapitals(alpha2, count: 2) else { return nil }
        self.alpha2 = String(alpha2)
    }

    /// A country by its three capital letters, as a transaction's storefront; `nil` where ISO 3166-1 has none.
    public init?(alpha3: String) {
        guard let alpha2 = CountryCode.alpha2OfAlpha3[alpha3] else { return nil }
        self.alpha2 = alpha2
    }

    /// By the letters.
    public static func < (left: CountryCode, right: CountryCode) -> Bool { left.alpha2 < right.alpha2 }

    /// The two letters.
    public var description: String { alpha2 }

    static func areCapitals(_ text: some StringProtocol, count: Int) -> Bool {
        text.utf8.count == count && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    private static let alpha2OfAlpha3: [String: String] = Dictionary(
        uniqueKeysWithValues: table.split(separator: " ").map { (String($0.prefix(3)), String($0.dropFirst(3))) })

    /// Every country, the three letters before the two; Kosovo's codes are user-assigned ones, as Apple has them.
    private static let table = """
        ABWAW AFGAF AGOAO AIAAI ALAAX ALBAL ANDAD AREAE ARGAR ARMAM ASMAS ATAAQ ATFTF ATGAG AUSAU AUTAT AZEAZ BDIBI \
        BELBE BENBJ BESBQ BFABF BGDBD BGRBG BHRBH BHSBS BIHBA BLMBL BLRBY BLZBZ BMUBM BOLBO BRABR BRBBB BRNBN BTNBT \
        BVTBV BWABW CAFCF CANCA CCKCC CHECH CHLCL CHNCN CIVCI CMRCM CODCD COGCG COKCK COLCO COMKM CPVCV CRICR CUBCU \
        CUWCW CXRCX CYMKY CYPCY CZECZ DEUDE DJIDJ DMADM DNKDK DOMDO DZADZ ECUEC EGYEG ERIER ESHEH ESPES ESTEE ETHET \
        FINFI FJIFJ FLKFK FRAFR FROFO FSMFM GABGA GBRGB GEOGE GGYGG GHAGH GIBGI GINGN GLPGP GMBGM GNBGW GNQGQ GRCGR \
        GRDGD GRLGL GTMGT GUFGF GUMGU GUYGY HKGHK HMDHM HNDHN HRVHR HTIHT HUNHU IDNID IMNIM INDIN IOTIO IRLIE IRNIR \
        IRQIQ ISLIS ISRIL ITAIT JAMJM JEYJE JORJO JPNJP KAZKZ KENKE KGZKG KHMKH KIRKI KNAKN KORKR KWTKW LAOLA LBNLB \
        LBRLR LBYLY LCALC LIELI LKALK LSOLS LTULT LUXLU LVALV MACMO MAFMF MARMA MCOMC MDAMD MDGMG MDVMV MEXMX MHLMH \
        MKDMK MLIML MLTMT MMRMM MNEME MNGMN MNPMP MOZMZ MRTMR MSRMS MTQMQ MUSMU MWIMW MYSMY MYTYT NAMNA NCLNC NERNE \
        NFKNF NGANG NICNI NIUNU NLDNL NORNO NPLNP NRUNR NZLNZ OMNOM PAKPK PANPA PCNPN PERPE PHLPH PLWPW PNGPG POLPL \
        PRIPR PRKKP PRTPT PRYPY PSEPS PYFPF QATQA REURE ROURO RUSRU RWARW SAUSA SDNSD SENSN SGPSG SGSGS SHNSH SJMSJ \
        SLBSB SLESL SLVSV SMRSM SOMSO SPMPM SRBRS SSDSS STPST SURSR SVKSK SVNSI SWESE SWZSZ SXMSX SYCSC SYRSY TCATC \
        TCDTD TGOTG THATH TJKTJ TKLTK TKMTM TLSTL TONTO TTOTT TUNTN TURTR TUVTV TWNTW TZATZ UGAUG UKRUA UMIUM URYUY \
        USAUS UZBUZ VATVA VCTVC VENVE VGBVG VIRVI VNMVN VUTVU WLFWF WSMWS YEMYE ZAFZA ZMBZM ZWEZW XKSXK
        """
}
