/// How a page looks: on a telephone, on a screen, light and dark, and on paper.
package enum PageStyle {
    package static let css: StaticString = """

        :root { --paper: #ffffff; --ink: #1b1f24; --quiet: #59636e; --rule: #d5dae0; --shadow: #0000002e;
          --a: #1f5fbf; --b: #d9730d; --c: #2f8f5b; --link: #1f5fbf; }
        @media (prefers-color-scheme: dark) {
          :root { --paper: #14171c; --ink: #e6e9ed; --quiet: #9aa5b1; --rule: #343b45; --shadow: #000000a0;
            --a: #6aa8ff; --b: #ffb066; --c: #6fd09b; --link: #8fbcff; }
        }
        * { box-sizing: border-box; }
        html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
        body { margin: 0 auto; padding: 1rem; max-width: 66rem; background: var(--paper); color: var(--ink);
          font: 1rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
        h1 { font-size: 1.9rem; line-height: 1.15; margin: .5rem 0 .25rem; }
        h2 { font-size: 1.35rem; margin: 0 0 .75rem; }
        small { color: var(--quiet); font-size: .65em; font-weight: 400; }
        header p, #notes p { color: var(--quiet); max-width: 46rem; margin: .25rem 0 .75rem; overflow-wrap: anywhere; }
        nav { display: flex; flex-wrap: wrap; gap: .25rem .9rem; }
        a { color: var(--link); overflow-wrap: anywhere; }
        /* Names: each space is there, and a line may end behind it. */
        bdi { white-space: pre-wrap; white-space: break-spaces; }
        .space { box-shadow: inset 0 -.2em var(--b); border-radius: 1px; }
        .unseen { font: .75em ui-monospace, "DejaVu Sans Mono", monospace; border: 1px solid var(--b);
          color: var(--ink); border-radius: 3px; padding: 0 .2em; margin: 0 .1em; white-space: nowrap; }
        section { border-top: 2px solid var(--rule); margin-top: 1.75rem; padding-top: 1.25rem; }
        .beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
          gap: 1rem 2rem; align-items: start; }
        .table { overflow-x: auto; margin: 0 0 1.25rem; max-width: 100%; }
        .beside .table { margin-bottom: 0; }
        .beside > div > figure + figure { margin-top: 1rem; }
        .whole { white-space: nowrap; }
        /* Where a table goes on beyond the edge, there is a shadow. */
        .table { background:
            linear-gradient(to right, var(--paper) 40%, transparent) left / 2.5rem 100% no-repeat local,
            linear-gradient(to left, var(--paper) 40%, transparent) right / 2.5rem 100% no-repeat local,
            linear-gradient(to right, var(--shadow), transparent) left / .8rem 100% no-repeat scroll,
            linear-gradient(to left, var(--shadow), transparent) right / .8rem 100% no-repeat scroll; }
        .beside + .table { margin-top: 1.25rem; }
        .table:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
        table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
        caption { text-align: left; font-weight: 600; padding: 0 0 .35rem; }
        th, td { padding: .28rem .5rem; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
        th:first-child { padding-left: 0; }
        tr > :last-child { padding-right: 0; }
        thead th { color: var(--quiet); font-weight: 500; vertical-align: bottom; }
        tbody th { font-weight: 400; white-space: nowrap; }
        tbody th bdi { overflow-wrap: anywhere; }
        .name { min-width: 8rem; overflow-wrap: anywhere; }
        .number { text-align: right; white-space: nowrap; }
        thead .number { white-space: normal; }
        .sum > * { font-weight: 600; border-top: 1px solid var(--quiet); }
        figure { margin: 0; min-width: 0; }
        figcaption { font-weight: 600; font-size: .9rem; padding-bottom: .35rem; }
        .chart { display: block; width: 100%; height: auto; max-width: 34rem; }
        .chart text { fill: var(--quiet);
          font: 10.5px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
        .chart .value { text-anchor: end; }
        .chart .day { text-anchor: middle; }
        .grid { stroke: var(--rule); stroke-width: .6; }
        .zero { stroke: var(--quiet); stroke-width: 1; }
        .a { fill: var(--a); } .b { fill: var(--b); } .c { fill: var(--c); }
        .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
        .line.a { stroke: var(--a); } .line.b { stroke: var(--b); stroke-dasharray: 5 3; } .line.c { stroke: var(--c); }
        .told { fill: transparent; }
        .told:hover { fill: var(--quiet); fill-opacity: .12; }
        .bar { display: block; width: 9rem; max-width: 100%; min-width: 4rem; height: 4px; margin: 3px 0 0 auto; }
        .legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .2rem 0 0; padding: 0;
          font-size: .85rem; color: var(--quiet); }
        .legend svg { width: .75em; height: .75em; margin-right: .4em; }
        @media (max-width: 30rem) {
          body { padding: .75rem; }
          table { font-size: .82rem; }
          th, td { padding: .28rem .35rem; }
        }
        @page { size: A4; margin: 14mm 13mm; }
        @media print {
          :root { --paper: #ffffff; --ink: #000000; --quiet: #444444; --rule: #bbbbbb; --shadow: transparent;
            --a: #1f5fbf; --b: #d9730d; --c: #2f8f5b; --link: #000000; }
          html { color-scheme: light; }
          body { padding: 0; max-width: none; font-size: 9pt; }
          nav { display: none; }
          h1 { font-size: 20pt; } h2 { font-size: 13pt; break-after: avoid; }
          caption, figcaption { break-after: avoid; }
          figcaption, .legend { font-size: 8pt; }
          section { margin-top: 12pt; padding-top: 8pt; }
          .beside { grid-template-columns: 1fr 1fr; }
          .table { overflow: visible; background: none; }
          table { font-size: 8pt; }
          th, td { padding: 1.6pt 4pt; }
          thead { display: table-header-group; break-after: avoid; }
          tbody tr:first-child, tbody tr:last-child { break-before: avoid; }
          tr, figure { break-inside: avoid; }
          .beside .table, #overview .table, #refunds .table { break-inside: avoid; }
        }

        """
}
