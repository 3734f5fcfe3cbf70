#!/usr/bin/env python3
"""Simulates a thousand books on fifty nodes with failures: how long a book has no commits in a year, and at what cost.

    many_books.py                          a year with each placement, from measured figures
    many_books.py --years 10 --seed 3
    many_books.py --books 200 --nodes 10 --clusters 2 --node-mtbf-days 30
    many_books.py --check                  holds the simulator against closed forms: what the tests run

A book is a ledger of its own with one leader. Its log is a schema in one of several clusters of PostgreSQL (three
servers each, with a synchronous standby). Some nodes follow it, and one of them takes the lead when the leader ends:
the one that leads least, by weight. A node that takes many leads at once takes them one after the other on each core.
Where all of a book's nodes are down another one gets the tables from a backup first.

What happens: nodes fail and come back, alone or with their whole zone; the primary of a cluster fails, and nothing of
its books commits until the cluster's time to live and ten seconds are over and each leader has settled what was in
doubt; every some weeks all nodes are upgraded one after the other, which hand their leads over before they stop, and
get them back.

What is measured is said beside it below, and what is assumed too; each can be given as an option. Time without commits
is counted from the failure to the first commit after it, per book; overlapping ones count once. Not simulated: network
partitions, slow disks, clients' own waiting, and faults of the program.

The seed is printed, and gives the same run. Needs Python 3.9; no packages.
"""
import argparse
import heapq
import math
import random
import statistics
import sys
import time

YEAR = 365.0 * 86_400

# Measured in this repository; the article "Beyond one leader" says where.
MEASURED = {
    "takeover-seconds": (1.9, "from a node's end to the first commit of the next leader, one book"),
    "handover-seconds": (0.0365, "without commits, handed over: the middle of 30 - 43 ms"),
    "credits-a-second": (33_000.0, "of a node of two cores: the middle of 26,000 - 40,000"),
    "append-seconds": (0.004, "a lone append in PostgreSQL on disk"),
    "commits-a-second": (8_500.0, "of one server of PostgreSQL on two cores, 128 books at once, a block of 300 bytes"),
    "wal-bytes-a-block": (605.0, "of a block of 300 bytes"),
    "wal-bytes-a-credit": (900.0, "a credit's evidence in a block: 9.0 GB of log for 10 million purchases"),
}
# Assumed.
ASSUMED = {
    "node-mtbf-days": (90.0, "between two failures of a node"),
    "node-mttr-minutes": (10.0, "until a failed node is back"),
    "cluster-mtbf-days": (180.0, "between two failures of a cluster's primary"),
    "zone-mtbf-days": (730.0, "between two failures of any zone, with all nodes and primaries in it; 0: none"),
    "zone-mttr-minutes": (60.0, "until its nodes are back"),
    "ttl-seconds": (30.0, "the cluster's time to live; Patroni's default"),
    "failover-extra-seconds": (10.0, "beyond it, until the new primary takes writes"),
    "upgrade-days": (14.0, "between two rolling upgrades; 0: none"),
    "upgrade-minutes": (1.0, "that a node is away in an upgrade"),
    "restore-minutes": (10.0, "until a node without a book's tables has them from a backup"),
    "node-dollars-hour": (0.0816, "a machine of two cores and 8 GB"),
    "server-dollars-hour": (0.1632, "a database server of four cores and 16 GB"),
    "disk-dollars-gb-month": (0.08, "a GB of disk for a month"),
    "load": (0.5, "of what all nodes can do, in credits, when all are up"),
}


class Books:
    """Which book is where, and how heavy it is."""

    def __init__(self, options, generator):
        self.options = options
        count = options.books
        # A few large games and many small ones: shares as 1 / rank to a power.
        shares = [1 / (rank + 1) ** options.skew for rank in range(count)]
        generator.shuffle(shares)
        scale = options.load * options.nodes * options.credits_a_second / sum(shares)
        self.weights = [share * scale for share in shares]
        self.clusters = [number % options.clusters for number in range(count)]
        self.followers = self.placed(generator)

    def placed(self, generator):
        """The nodes of each book, the first of which leads where it can."""
        options = self.options
        nodes = options.nodes
        copies = min(options.copies, nodes)
        if options.placement == "neighbours":
            # As it comes: book i on node i, and the next ones behind it.
            return [[(number + copy) % nodes for copy in range(copies)] for number in range(options.books)]
        if options.placement == "random":
            return [generator.sample(range(nodes), copies) for _ in range(options.books)]
        # By weight: the heaviest first, to the node that leads least. The others are in other zones, and those that
        # would have least to take over from the same leader, so that a failed node's books spread.
        led = [0.0] * nodes
        inherited = [[0.0] * nodes for _ in range(nodes)]
        placed = [[] for _ in range(options.books)]
        for book in sorted(range(options.books), key=lambda number: -self.weights[number]):
            leader = min(range(nodes), key=lambda node: led[node])
            led[leader] += self.weights[book]
            others = sorted(
                (node for node in range(nodes)
                 if node != leader and (options.zones == 1 or node % options.zones != leader % options.zones)),
                key=lambda node: (inherited[leader][node] + 0.1 * led[node], generator.random()))[: copies - 1]
            for node in others:
                inherited[leader][node] += self.weights[book]
            placed[book] = [leader] + others
        return placed


class Simulation:
    """A run, event by event."""

    def __init__(self, options, seed):
        self.options = options
        # What fails when depends on the seed alone, and not on how books were placed.
        self.generator = random.Random(seed)
        self.books = Books(options, random.Random(seed + 1))
        self.horizon = options.years * YEAR
        self.now = 0.0
        self.events = []
        self.number = 0
        nodes, count = options.nodes, options.books
        self.is_up = [True] * nodes
        self.leader = [None] * count
        self.led = [set() for _ in range(nodes)]
        self.load = [0.0] * nodes
        self.node_books = [[] for _ in range(nodes)]
        for book, followers in enumerate(self.books.followers):
            for node in followers:
                self.node_books[node].append(book)
        self.cluster_books = [[] for _ in range(options.clusters)]
        for book, cluster in enumerate(self.books.clusters):
            self.cluster_books[cluster].append(book)
        # When each of a node's cores has done its takeovers.
        self.busy = [[0.0] * options.cores for _ in range(nodes)]
        self.cluster_until = [0.0] * options.clusters
        # Time without commits: until when each book has none, and what it had so far, by cause.
        self.silent_until = [0.0] * count
        self.silence = [0.0] * count
        self.silence_by_year = [[0.0] * count for _ in range(math.ceil(options.years) + 1)]
        # Since when a book has no node at all.
        self.leaderless_since = {}
        self.by_cause = {}
        self.storms = []
        self.failures = self.zone_failures = self.failovers = self.handovers = self.takeovers = self.restores = 0
        self.lost_credits = self.overload_credits = 0.0
        self.overload_since = [None] * nodes
        for book in range(count):
            self.lead(book, self.choose(book))
        self.peak = max(self.load) / options.credits_a_second
        for node in range(nodes):
            self.after(self.lifetime(options.node_mtbf_days * 86_400), self.fail, node)
        for cluster in range(options.clusters):
            self.after(self.lifetime(options.cluster_mtbf_days * 86_400), self.fail_over, cluster)
        for zone in range(options.zones):
            # Each of them as often as the option says of all together.
            self.after(self.lifetime(options.zone_mtbf_days * options.zones * 86_400), self.fail_zone, zone)
        if options.upgrade_days:
            self.after(options.upgrade_days * 86_400, self.upgrade, 0)

    def after(self, seconds, what, *arguments):
        self.number += 1
        heapq.heappush(self.events, (self.now + seconds, self.number, what, arguments))

    def lifetime(self, mean):
        return self.generator.expovariate(1 / mean) if mean > 0 else math.inf

    def run(self):
        while self.events and self.events[0][0] < self.horizon:
            self.now, _, what, arguments = heapq.heappop(self.events)
            what(*arguments)
        self.now = self.horizon
        for book in list(self.leaderless_since):
            self.quiet(book, self.now, "no node was up", since=self.leaderless_since.pop(book))
        for node in range(self.options.nodes):
            self.weigh(node)
        return self

    # MARK: Leads

    def lead(self, book, node):
        """Gives a book to a node, or to nobody."""
        before = self.leader[book]
        weight = self.books.weights[book]
        for other in {before, node} - {None}:
            self.weigh(other)
        if before is not None:
            self.led[before].discard(book)
            self.load[before] -= weight
        self.leader[book] = node
        if node is not None:
            assert self.is_up[node], "a node that is down leads"
            self.led[node].add(book)
            self.load[node] += weight

    def weigh(self, node):
        """Counts what a node could not serve since its load changed last."""
        since = self.overload_since[node]
        if since is not None:
            excess = max(0.0, self.load[node] - self.options.credits_a_second)
            self.overload_credits += excess * (self.now - since)
        self.overload_since[node] = self.now

    def choose(self, book):
        """Who leads a book: the first of its nodes while that has room, else the one that leads least."""
        up = [node for node in self.books.followers[book] if self.is_up[node]]
        if not up:
            return None
        if self.options.placement != "weight" or up[0] == self.books.followers[book][0]:
            return up[0]
        return min(up, key=lambda node: self.load[node])

    def quiet(self, book, until, cause, since=None):
        """No commits of a book from now on, or since a time, until then. What overlaps counts once."""
        begin = max(self.now if since is None else since, self.silent_until[book])
        if until > begin:
            seconds = min(until, self.horizon) - min(begin, self.horizon)
            self.silence[book] += seconds
            self.silence_by_year[int(begin / YEAR)][book] += seconds
            self.by_cause[cause] = self.by_cause.get(cause, 0.0) + until - begin
            self.lost_credits += self.books.weights[book] * (until - begin)
            self.silent_until[book] = until

    def turn(self, node, ready, seconds):
        """When a node has done a piece of work that it can begin at a time, on the first of its cores that is free."""
        cores = self.busy[node]
        core = min(range(len(cores)), key=lambda number: cores[number])
        cores[core] = max(cores[core], ready) + seconds
        return cores[core]

    def take(self, book, ready, cause):
        """The lead of a book goes to a node that is up, which can begin at a time."""
        options = self.options
        node = self.choose(book)
        self.takeovers += 1
        if node is None:
            # Nobody has its tables. Another node gets them, and leads until one of its own is back.
            node = min((n for n in range(options.nodes) if self.is_up[n]), key=lambda n: self.load[n], default=None)
            if node is None:
                self.lead(book, None)
                self.leaderless_since[book] = self.now
                return math.inf
            self.restores += 1
            ready += options.restore_minutes * 60
            cause = "no follower was up"
        self.lead(book, node)
        since = self.leaderless_since.pop(book, None)
        until = self.turn(node, max(ready, self.cluster_until[self.books.clusters[book]]), options.handover_seconds)
        self.quiet(book, until, cause, since)
        return until - self.now

    # MARK: What happens

    def fail(self, node):
        """A node ends without a word."""
        if not self.is_up[node]:
            # It is away just now.
            self.after(60.0, self.fail, node)
            return
        self.failures += 1
        self.after(self.lifetime(self.options.node_mttr_minutes * 60), self.come_back, node, True)
        self.end([node], "node")

    def fail_zone(self, zone):
        """All nodes of a zone end at once, and the primaries that are there."""
        options = self.options
        self.zone_failures += 1
        nodes = [node for node in range(zone, options.nodes, options.zones) if self.is_up[node]]
        for node in nodes:
            self.after(options.zone_mttr_minutes * 60, self.come_back, node, False)
        self.end(nodes, "zone")
        for cluster in range(zone, options.clusters, options.zones):
            self.fail_over(cluster, again=False)
        self.after(self.lifetime(options.zone_mtbf_days * options.zones * 86_400), self.fail_zone, zone)

    def end(self, nodes, kind):
        """Nodes end at once, and others take their leads, the heaviest first."""
        options = self.options
        for node in nodes:
            self.is_up[node] = False
        # The lease has to be over; what a takeover itself takes is a part of what was measured.
        ready = self.now + max(0.0, options.takeover_seconds - options.handover_seconds)
        books = [book for node in nodes for book in self.led[node]]
        restored = self.restores
        waits = [self.take(book, ready, f"a {kind} failed")
                 for book in sorted(books, key=lambda number: (-self.books.weights[number], number))]
        if waits:
            self.storms.append((max(waits), len(waits), kind, self.restores - restored))

    def come_back(self, node, failed):
        self.is_up[node] = True
        self.busy[node] = [self.now] * self.options.cores
        for book in list(self.leaderless_since):
            self.take(book, self.now, "no node was up")
        for book in self.node_books[node]:
            if self.books.followers[book][0] == node or self.leader[book] not in self.books.followers[book]:
                self.hand_over(book, node)
        if failed:
            self.after(self.lifetime(self.options.node_mtbf_days * 86_400), self.fail, node)

    def hand_over(self, book, node):
        if self.silent_until[book] > self.now:
            # In trouble already; it stays where it is for now.
            self.after(60.0, self.hand_over_later, book, node)
            return
        self.handovers += 1
        self.lead(book, node)
        self.quiet(book, self.now + self.options.handover_seconds, "handed over")

    def hand_over_later(self, book, node):
        if self.is_up[node] and self.leader[book] not in (node, None):
            self.hand_over(book, node)

    def fail_over(self, cluster, again=True):
        """A cluster's primary ends: nothing of its books commits until another takes writes and leaders settled."""
        options = self.options
        self.failovers += 1
        ready = self.now + options.ttl_seconds + options.failover_extra_seconds
        self.cluster_until[cluster] = max(self.cluster_until[cluster], ready)
        waits = []
        for book in self.cluster_books[cluster]:
            node = self.leader[book]
            if node is None:
                continue
            until = self.turn(node, ready, options.handover_seconds)
            self.quiet(book, until, "a database failed over")
            waits.append(until - self.now)
        self.storms.append((max(waits, default=0.0), len(waits), "database", 0))
        if again:
            self.after(self.lifetime(options.cluster_mtbf_days * 86_400), self.fail_over, cluster)

    def upgrade(self, node):
        """One node after the other hands its leads over, is away, and comes back."""
        options = self.options
        if node == options.nodes:
            round_seconds = options.nodes * (options.upgrade_minutes * 60 + 30)
            self.after(max(60.0, options.upgrade_days * 86_400 - round_seconds), self.upgrade, 0)
            return
        if self.is_up[node] and all(self.is_up):
            self.is_up[node] = False
            for book in sorted(self.led[node]):
                other = self.choose(book)
                if other is None:
                    self.take(book, self.now, "away for an upgrade")
                else:
                    self.hand_over_now(book, other)
            self.after(options.upgrade_minutes * 60, self.come_back, node, False)
            self.after(options.upgrade_minutes * 60 + 30, self.upgrade, node + 1)
        else:
            # Not while another is down.
            self.after(120.0, self.upgrade, node)

    def hand_over_now(self, book, node):
        self.handovers += 1
        self.lead(book, node)
        until = max(self.now, self.cluster_until[self.books.clusters[book]], self.silent_until[book])
        self.quiet(book, until + self.options.handover_seconds, "handed over")


# MARK: Reports


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def expected_seconds_a_year(options):
    """Without commits, per book and year, where nothing overlaps and no takeover waits for another."""
    nodes = 365 / options.node_mtbf_days * (options.takeover_seconds + options.handover_seconds)
    # Handed back to the node when it is there again: that is the second term of the line above.
    clusters = 365 / options.cluster_mtbf_days * (
        options.ttl_seconds + options.failover_extra_seconds + options.handover_seconds)
    zones = 0.0
    if options.zone_mtbf_days:
        # A third of the books has its leader there, and a third its primary; who has both waits for the primary.
        share = 365 / options.zone_mtbf_days / options.zones
        zones = share * (options.ttl_seconds + options.failover_extra_seconds + options.handover_seconds) + (
            share * (1 - 1 / options.zones) * (options.takeover_seconds + options.handover_seconds))
    upgrades = 2 * 365 / options.upgrade_days * options.handover_seconds if options.upgrade_days else 0
    return nodes + clusters + zones + upgrades


def throughput(options, books):
    """How many credits all nodes do a second, if each book had as much more as any other, until a node is full."""
    led = [0.0] * options.nodes
    for book, followers in enumerate(books.followers):
        led[followers[0]] += books.weights[book]
    worst = max(led)
    return sum(led) * options.credits_a_second / worst, worst / (sum(led) / options.nodes)


def after_a_failure(options, books):
    """After the worst single failure: how full the fullest node is, and how many leads one node takes at most."""
    led = [0.0] * options.nodes
    for book, followers in enumerate(books.followers):
        led[followers[0]] += books.weights[book]
    fullest, most = 0.0, 0
    for failed in range(options.nodes):
        loads, taken = list(led), [0] * options.nodes
        for book in sorted(range(options.books), key=lambda number: -books.weights[number]):
            followers = books.followers[book]
            if followers[0] == failed and len(followers) > 1:
                rest = followers[1:]
                node = min(rest, key=lambda n: loads[n]) if options.placement == "weight" else rest[0]
                loads[node] += books.weights[book]
                taken[node] += 1
        loads[failed] = 0
        fullest, most = max(fullest, max(loads)), max(most, max(taken))
    return fullest / options.credits_a_second, most


def report(options, simulation):
    books = simulation.books
    whole_years = max(1, int(options.years))
    a_year = [seconds for year in simulation.silence_by_year[:whole_years] for seconds in year]
    rate, imbalance = throughput(options, books)
    fullest, most = after_a_failure(options, books)
    offered = sum(books.weights)
    print(f"placement: {options.placement}")
    print(f"  throughput: {rate:,.0f} credits/s until a node is full (the fullest has {imbalance:.2f} x the mean); "
          f"offered {offered:,.0f}")
    print(f"  after the worst single failure the fullest node has {fullest:.2f} of what it can do; "
          f"one took {most} leads")
    counts = {
        "nodes failed": simulation.failures, "zones": simulation.zone_failures, "fail-overs": simulation.failovers,
        "takeovers": simulation.takeovers, "handed over": simulation.handovers, "from backups": simulation.restores}
    print("  a year: " + ", ".join(f"{count / options.years:,.1f} {what}" for what, count in counts.items()))
    print(f"  without commits, seconds a book in a year: mean {statistics.fmean(a_year):.1f} "
          f"(closed form {expected_seconds_a_year(options):.1f}), median {percentile(a_year, 0.5):.1f}, "
          f"99 % {percentile(a_year, 0.99):.1f}, most {max(a_year):.1f}; "
          f"available {100 * (1 - statistics.fmean(a_year) / YEAR):.5f} %")
    total = sum(simulation.by_cause.values()) or 1
    for cause, seconds in sorted(simulation.by_cause.items(), key=lambda item: -item[1]):
        print(f"    {100 * seconds / total:5.1f} % {cause}")
    for kind in ("node", "zone", "database"):
        storms = [storm for storm in simulation.storms if storm[2] == kind]
        if storms:
            worst = max(storms)
            median = percentile([storm[0] for storm in storms], 0.5)
            backups = f", {worst[3]} of them from backups" if worst[3] else ""
            print(f"  after a {kind}'s failure the last book commits after {median:.2f} s (median), "
                  f"{worst[0]:.2f} s (worst: {worst[1]} books{backups})")
    print(f"  not served: {100 * simulation.lost_credits / (offered * simulation.horizon):.5f} % without commits, "
          f"{100 * simulation.overload_credits / (offered * simulation.horizon):.5f} % for want of room on a node")


def cost(options):
    """What a year costs, and a million credits."""
    offered = options.load * options.nodes * options.credits_a_second
    dollars = 8_760 * (options.nodes * options.node_dollars_hour + 3 * options.clusters * options.server_dollars_hour)
    million = dollars / (offered * YEAR / 1e6)
    kept = options.wal_bytes_a_credit * 1e6 / 1e9
    print(f"cost: {options.nodes} nodes and {3 * options.clusters} database servers, ${dollars:,.0f} a year. At "
          f"{offered:,.0f} credits/s all year ${million:.4f} a million credits, at a hundredth of that "
          f"${100 * million:.2f}. To keep a million credits, {kept:.2f} GB on three servers, is "
          f"${3 * kept * options.disk_dollars_gb_month:.3f} a month")
    per_cluster = offered / options.clusters
    print(f"database: {per_cluster:,.0f} credits/s a cluster are {per_cluster * options.wal_bytes_a_credit / 1e6:,.0f} "
          f"MB/s of write-ahead log. Lone blocks: {options.commits_a_second:,.0f} a second are "
          f"{options.commits_a_second / (options.books / options.clusters):,.0f} a second and book, "
          f"{options.commits_a_second * options.wal_bytes_a_block / 1e6:.1f} MB/s; one book alone makes "
          f"{1 / options.append_seconds:.0f} a second")


# MARK: Checking


def options_for(**changes):
    options = arguments_parser().parse_args([])
    for name, value in changes.items():
        assert hasattr(options, name), name
        setattr(options, name, value)
    return options


def check(seed):
    """Holds the simulator against what can be computed. Prints each, and gives back how many do not fit."""
    faults = 0

    def expect(what, seen, wanted, tolerance):
        nonlocal faults
        fits = abs(seen - wanted) <= tolerance
        faults += not fits
        print(f"{'fits' if fits else 'DOES NOT FIT'}: {what}: {seen:.6g}, computed {wanted:.6g} "
              f"(within {tolerance:.3g})")

    alone = dict(books=1, nodes=1, copies=1, clusters=1, upgrade_days=0, cluster_mtbf_days=0, zone_mtbf_days=0,
                 takeover_seconds=0, handover_seconds=0, restore_minutes=0, load=0.5)
    # One node and nobody else: MTBF / (MTBF + MTTR). A run of n failures has an error of about sqrt(2 / n) of the time.
    options = options_for(years=200, node_mtbf_days=10, node_mttr_minutes=600, **alone)
    simulation = Simulation(options, seed).run()
    down = 600 / (10 * 1440 + 600)
    expect("unavailable, one node: MTTR / (MTBF + MTTR)", simulation.silence[0] / simulation.horizon, down,
           4 * down * math.sqrt(2 / simulation.failures))
    # No failures, no time without commits.
    options = options_for(years=1, node_mtbf_days=0, cluster_mtbf_days=0, zone_mtbf_days=0, upgrade_days=0)
    expect("seconds without commits where nothing fails", sum(Simulation(options, seed).run().silence), 0, 0)
    # Upgrades alone: each book is handed over and handed back.
    options = options_for(years=1, node_mtbf_days=0, cluster_mtbf_days=0, zone_mtbf_days=0, upgrade_days=14)
    simulation = Simulation(options, seed).run()
    rounds = sum(simulation.silence) / (2 * options.handover_seconds * options.books)
    expect("rolling upgrades a year", rounds, 26, 0.51)
    # Nodes alone, with one core for each takeover and room for all: failures x takeover.
    options = options_for(years=5, cluster_mtbf_days=0, zone_mtbf_days=0, upgrade_days=0, cores=100)
    simulation = Simulation(options, seed).run()
    mean = statistics.fmean(simulation.silence) / options.years
    form = 365 / options.node_mtbf_days * (1 - options.node_mttr_minutes / 1440 / options.node_mtbf_days) * (
        options.takeover_seconds + options.handover_seconds)
    expect("seconds a book and year, nodes fail", mean, form, 0.05 * form)
    # Clusters alone.
    options = options_for(years=20, node_mtbf_days=0, zone_mtbf_days=0, upgrade_days=0, cores=100)
    simulation = Simulation(options, seed).run()
    mean = statistics.fmean(simulation.silence) / options.years
    form = 365 / options.cluster_mtbf_days * (
        options.ttl_seconds + options.failover_extra_seconds + options.handover_seconds)
    expect("seconds a book and year, databases fail over", mean, form,
           4 * form / math.sqrt(simulation.failovers) + 0.01 * form)
    # Zones alone.
    options = options_for(years=60, node_mtbf_days=0, cluster_mtbf_days=0, upgrade_days=0, zone_mtbf_days=90, cores=100)
    simulation = Simulation(options, seed).run()
    mean = statistics.fmean(simulation.silence) / options.years
    form = expected_seconds_a_year(options_for(
        node_mtbf_days=math.inf, cluster_mtbf_days=math.inf, upgrade_days=0, zone_mtbf_days=90))
    expect("seconds a book and year, zones fail", mean, form,
           4 * form / math.sqrt(simulation.zone_failures) + 0.01 * form)
    # Two nodes that fail independently: both are down for the square of one's share.
    options = options_for(years=600, node_mtbf_days=1, node_mttr_minutes=144, **{**alone, "nodes": 2, "copies": 2})
    simulation = Simulation(options, seed).run()
    share = (0.1 / 1.1) ** 2
    expect("unavailable, two nodes: the square", simulation.silence[0] / simulation.horizon, share, 0.03 * share)
    # A storm: n books that one node takes on one core wait one after the other.
    options = options_for(years=1, books=20, nodes=2, copies=2, placement="neighbours", cores=1, clusters=1,
                          node_mtbf_days=0, cluster_mtbf_days=0, zone_mtbf_days=0, upgrade_days=0, zones=1)
    simulation = Simulation(options, seed)
    simulation.fail(0)
    expect("the last of ten books that one core takes", simulation.storms[0][0],
           options.takeover_seconds + 9 * options.handover_seconds, 1e-9)
    # Each book has one leader, which is one of those that are up; loads are sums; the same seed is the same run.
    options = options_for(years=1)
    one, two = Simulation(options, seed).run(), Simulation(options, seed).run()
    expect("the same seed, another run", sum(one.silence), sum(two.silence), 0)
    for node in range(options.nodes):
        expected = sum(one.books.weights[book] for book in range(options.books) if one.leader[book] == node)
        if abs(one.load[node] - expected) > 1e-3 * options.credits_a_second:
            expect(f"load of node {node}", one.load[node], expected, 0)
    expect("books that are led", sum(leader is not None for leader in one.leader), options.books, 0)
    # A simulator that counted overlapping times twice would say more than the horizon here.
    options = options_for(years=0.05, books=10, clusters=1, node_mtbf_days=0, zone_mtbf_days=0, upgrade_days=0,
                          cluster_mtbf_days=1e-3,
                          ttl_seconds=1_200)
    one = Simulation(options, seed).run()
    expect("the share of time without commits, always in fail-over", max(one.silence) / one.horizon, 1, 0.01)
    print("all as it should be" if faults == 0 else f"{faults} do not fit")
    return int(faults != 0)


def arguments_parser():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--years", type=float, default=5.0)
    parser.add_argument("--books", type=int, default=1_000)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--clusters", type=int, default=10, help="of PostgreSQL, of three servers each (10)")
    parser.add_argument("--cores", type=int, default=2, help="of a node (2)")
    parser.add_argument("--copies", type=int, default=3, help="nodes with a book's tables, its leader's included (3)")
    parser.add_argument("--skew", type=float, default=0.5, help="a book's share is 1 / rank to this power (0.5)")
    parser.add_argument("--zones", type=int, default=3, help="that fail as a whole (3)")
    parser.add_argument("--placement", choices=["neighbours", "random", "weight"], help="one only (weight)")
    parser.add_argument("--check", action="store_true", help="hold the simulator against closed forms")
    for name, (value, what) in {**MEASURED, **ASSUMED}.items():
        kind = "measured" if name in MEASURED else "assumed"
        parser.add_argument(f"--{name}", type=float, default=value, help=f"{what}; {kind} ({value:g})")
    parser.set_defaults(placement="weight")
    return parser


def main():
    options = arguments_parser().parse_args()
    print(f"seed {options.seed}")
    if options.check:
        return check(options.seed)
    print(f"{options.books:,} books, {options.nodes} nodes, {options.clusters} clusters, "
          f"{options.copies} nodes a book, {options.years:g} years")
    one = "--placement" in " ".join(sys.argv)
    for placement in [options.placement] if one else ["neighbours", "random", "weight"]:
        options.placement = placement
        begin = time.monotonic()
        report(options, Simulation(options, options.seed).run())
        print(f"  ({time.monotonic() - begin:.1f} s)")
    cost(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
