/// How the console's pages look, beside what all pages have (``PageStyle``).
enum ConsoleStyle {
    static let css: StaticString = """

        :root { --good: #1d7a45; --bad: #b3261e; --tint: #f3f6fa; --warm: #fff4e5; }
        @media (prefers-color-scheme: dark) {
          :root { --good: #6fd09b; --bad: #ff9a90; --tint: #1c222a; --warm: #33260f; }
        }
        .console { max-width: 72rem; }
        .console h1 { margin: 1.25rem 0 .5rem; overflow-wrap: anywhere; }
        .console h1 small { font-size: .6em; }
        .characters { margin-top: 0; font-size: .8rem; overflow-wrap: anywhere; }
        .skip { position: absolute; left: -999rem; }
        .skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .5rem .75rem; z-index: 1; }
        :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 2px; }
        main:focus { outline: none; }
        .top { border-bottom: 2px solid var(--rule); padding-bottom: .75rem; }
        .bar-of-page { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .5rem 1.5rem;
          align-items: center; }
        .brand { color: var(--ink); text-decoration: none; font-weight: 700; font-size: 1.1rem; }
        .brand small { display: block; font-size: .75rem; }
        .account { display: flex; gap: .75rem; align-items: center; font-size: .9rem; color: var(--quiet); }
        label { display: block; font-weight: 600; font-size: .9rem; margin: .9rem 0 .3rem; }
        .field { display: flex; gap: .5rem; max-width: 40rem; }
        input { font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--quiet);
          border-radius: 6px; padding: .55rem .7rem; width: 100%; min-width: 0; }
        button { font: inherit; font-weight: 600; color: var(--paper); background: var(--link); cursor: pointer;
          border: 1px solid var(--link); border-radius: 6px; padding: .55rem 1.1rem; min-height: 2.75rem; }
        button.plain { color: var(--link); background: none; padding: .3rem .8rem; min-height: 2rem; }
        .pages ul, .plain-list, .choice { list-style: none; padding: 0; margin: .9rem 0 0; }
        .pages ul { display: flex; flex-wrap: wrap; gap: .4rem 1.25rem; }
        .pages a { display: inline-block; padding: .25rem 0; }
        .pages a[aria-current], .choices a[aria-current] { color: var(--ink); font-weight: 600; text-decoration: none;
          box-shadow: 0 2px 0 var(--link); }
        .plain-list li, .choice li { margin: .5rem 0; }
        .choice a { font-weight: 600; }
        .paging, .choices { margin: .75rem 0; gap: .5rem 1.25rem; }
        .quiet { color: var(--quiet); }
        .notice { border-left: 4px solid var(--link); background: var(--tint); padding: .7rem .9rem; margin: .9rem 0;
          border-radius: 0 6px 6px 0; overflow-wrap: anywhere; }
        .notice.debt { border-color: var(--b); background: var(--warm); }
        .notice.bad { border-color: var(--bad); }
        .notice.good { border-color: var(--good); }
        .facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr));
          gap: .9rem 1.5rem; margin: 1rem 0; }
        .facts dt { color: var(--quiet); font-size: .85rem; }
        .facts dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
        .state.standing { color: var(--good); }
        .state.revoked, .state.partly_revoked { color: var(--bad); }
        .statement { font-size: .92rem; }
        .statement th, .statement td { padding: .55rem .6rem; }
        .statement small, .statement .label { display: block; font-size: .82em; overflow-wrap: anywhere; }
        .statement tbody tr:nth-child(even) { background: var(--tint); }
        .statement tbody th:first-child, .statement thead th:first-child { padding-left: .6rem; }
        .statement tr > :last-child { padding-right: .6rem; }
        .statement .label { display: none; color: var(--quiet); }
        .statement .kind { font-weight: 600; }
        .statement .product, .statement .what, .statement .who { overflow-wrap: anywhere; }
        .statement .when { min-width: 8.5rem; }
        .statement .product { min-width: 11rem; }
        .statement .product > bdi { word-break: break-word; }
        .statement .amount { display: block; white-space: nowrap; }
        .statement .code { color: var(--quiet); font-size: .82em; }
        .statement .in .amount { color: var(--good); }
        .statement .owes { color: var(--bad); font-weight: 600; }
        .statement .balance { font-weight: 600; }
        .statement .balance small { font-weight: 400; }
        .story { padding: 0; margin: 0; list-style: none; border-left: 2px solid var(--rule); }
        .story li { position: relative; padding: 0 0 1.1rem 1.25rem; }
        .story li::before { content: ""; position: absolute; left: -7px; top: .4rem; width: 12px; height: 12px;
          border-radius: 50%; background: var(--link); border: 2px solid var(--paper); }
        .story p { margin: .1rem 0; overflow-wrap: anywhere; }
        .story .event { font-size: 1.05rem; }
        .story .event time { font-size: .85rem; white-space: nowrap; }
        .mark { font-weight: 600; }
        .mark.good { color: var(--good); }
        .mark.plain { color: var(--quiet); }
        details { margin: .75rem 0; }
        summary { cursor: pointer; padding: .25rem 0; color: var(--link); }
        pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--tint); padding: .7rem; margin: .5rem 0;
          font: .85rem ui-monospace, "DejaVu Sans Mono", monospace; }
        .console footer { margin-top: 2rem; border-top: 2px solid var(--rule); color: var(--quiet); font-size: .85rem; }
        .login { max-width: 26rem; margin: 12vh auto 0; }
        .login button { margin-top: 1rem; width: 100%; }
        /* A row is a card where seven columns have no room. */
        @media screen and (max-width: 50rem) {
          .statement, .statement caption, .statement tbody { display: block; }
          .statement thead { position: absolute; left: -999rem; }
          .statement tbody tr { display: grid; grid-template-columns: 1fr 1fr; gap: .35rem 1rem;
            padding: .75rem .25rem; border-bottom: 1px solid var(--rule); }
          .statement tbody tr > * { border: 0; padding: 0; min-width: 0; }
          .statement .label { display: block; }
          .statement .when, .statement .what, .statement .product { grid-column: 1 / -1; }
          .statement .when { order: 0; white-space: normal; display: flex; flex-wrap: wrap; gap: 0 .75rem;
            justify-content: space-between; color: var(--quiet); font-size: .85em; }
          .statement tbody th:first-child { padding-left: 0; }
          .statement tr > :last-child { padding-right: 0; }
          .statement .number { text-align: left; }
          .statement .number.balance { text-align: right; order: 2; }
          .statement .in, .statement .out { order: 1; }
          .statement .who { order: 3; grid-column: 1 / -1; display: flex; gap: .5rem; font-size: .85em; }
          .statement .none, .statement .product:empty { display: none; }
          .statement td.number.none + td.number.none + .balance { grid-column: 2; }
        }
        @media (max-width: 30rem) {
          .console h1 { font-size: 1.5rem; }
          .account { width: 100%; justify-content: space-between; }
        }
        @media print {
          :root { --good: #000000; --bad: #000000; --tint: transparent; --warm: transparent; }
          .skip, .search, .account, .pages, .paging, .choices { display: none; }
          .top { border: 0; padding: 0; }
          .brand small { font-size: 8pt; }
          .statement { font-size: 7.5pt; }
          .statement th, .statement td { padding: 2pt 4pt; }
          .statement tr { break-inside: avoid; }
          .console a { color: inherit; text-decoration: none; }
          .notice { border: 1px solid var(--rule); }
          .story li { break-inside: avoid; }
        }

        """
}
