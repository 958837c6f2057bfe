// The page: takes captures, and keeps everything that is shown in step with the state.
import { Client } from "./client";
import { Completion } from "./completion";
import { showDiagnosis } from "./diagnosis";
import { button, by, copyText, download, drawing } from "./dom";
import { captures, dissector } from "./embedded";
import { Grid } from "./grid";
import { findingTable, groupTable } from "./groups";
import { picture } from "./picture";
import type { Notable, ReadingProgress, Row, SaveFormat, Timeline } from "./protocol";
import { showReading, showRpc } from "./rpc";
import { format, formatRpc, narrowed, parse, parseRpc, START, type Parsed, type RpcName, type State } from "./state";
import { FINDINGS, pressed, RPCS, TABLES, tableOf, type Column, type Order } from "./tables";
import { TimelineView } from "./timeline";

/** Milliseconds between two refreshes while a capture is read, and those without a key until a filter is applied. */
const REFRESH = 1000;
const TYPING = 250;
/** Milliseconds for which the page says what was done. */
const SAID = 6000;

/** An RPC in the address. */
const rpcOf = ({ connection, xid, call_frame, reply_frame }: Row): string =>
  formatRpc({ connection, xid, frame: call_frame ?? reply_frame ?? 0 });

/** Words for the RPCs that keys step through. */
const STEPPED: Readonly<Record<Notable, string>> = { slow: "Slowest RPCs", failed: "Failed RPCs", waiting: "Calls without a reply" };

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

class Page {
  private client: Client | undefined;
  private files: readonly File[] = [];
  private state: State = START;
  private progress: ReadingProgress | undefined;
  private refreshed = 0;
  /** Counts refreshes, so that one that was overtaken shows nothing more. */
  private turn = 0;
  private saying = 0;
  private openRow: number | null = null;
  /** Counts RPCs that were opened, so that an earlier one is not shown any more. */
  private opening = 0;
  /** The last filter that was applied, and why the text in the field is none. */
  private applied = START.filter;
  private refusal: string | null = null;
  /** Counts applications of the field, so that an earlier answer changes nothing. */
  private attempt = 0;
  /** The last order of each table that is not in view. */
  private readonly orders = new Map<string, Order>();
  /** The page's scroll position when an RPC was opened. */
  private scrolled = 0;
  private readonly filter = by<HTMLInputElement>("filter");
  private readonly completion = new Completion(this.filter, by("words"));
  private readonly grid = new Grid(by("grid"), {
    rows: (from, count) => this.ask().ask("rows", from, count),
    sort: (column) => this.sort(column),
    open: (row) => this.set({ rpc: rpcOf(row) }),
  });
  private readonly timeline = new TimelineView(by("charts"), (from, until) => this.narrow([`since=+${from.toFixed(6)}`, `until=+${until.toFixed(6)}`]));

  start(): void {
    this.listenForFiles();
    this.listenForFilters();
    this.listenForKeys();
    for (const { view, title } of TABLES) {
      by("tabs").append(button(title, () => this.view(view), { role: "tab", "data-view": view, "aria-controls": "panel" }));
    }
    this.state = this.read(parse(location.hash));
    addEventListener("hashchange", () => {
      this.refusal = null;
      this.shown(this.read(parse(location.hash)));
    });
    by("picture").addEventListener("click", () => void this.savePicture());
    by("cancel").addEventListener("click", () => void this.client?.ask("cancel"));
    for (const press of document.querySelectorAll<HTMLButtonElement>("[data-save]")) {
      press.addEventListener("click", () => void this.save(press.dataset["save"] as SaveFormat));
    }
    const clock = by("clock");
    clock.addEventListener("click", () => {
      const isSeconds = clock.getAttribute("aria-pressed") !== "true";
      clock.setAttribute("aria-pressed", String(isSeconds));
      this.grid.clock(!isSeconds);
    });
    const carried = captures();
    if (carried.length > 0) void this.open(carried);
    // A tenth of a second that the first capture need not wait for. Safari has no such callback.
    else if ("requestIdleCallback" in window) requestIdleCallback(() => void dissector().catch((error: unknown) => this.fail(error)));
  }

  private ask(): Client {
    if (this.client === undefined) throw new Error("no capture is open");
    return this.client;
  }

  /** Reads captures; those from before are closed. */
  private async open(files: readonly File[]): Promise<void> {
    if (this.client !== undefined) {
      this.client.close();
      // The filter and the RPC were those of the capture before; an address that came with the page is for the first one.
      this.state = { ...this.state, filter: START.filter, rpc: START.rpc };
      this.filter.value = this.applied = START.filter;
      this.refusal = null;
      this.openRow = null;
      by("unknown").textContent = "";
      history.pushState(null, "", `#${format(this.state)}`);
    }
    this.turn++;
    this.opening++;
    delete document.body.dataset["shown"];
    // Files whose first frame is not known stay in the order of their names.
    const named = [...files].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    this.files = named;
    this.progress = undefined;
    by("rpc").hidden = true;
    scrollTo(0, 0);
    by("errors").textContent = "";
    by("welcome").hidden = true;
    by("explorer").hidden = by("keys").hidden = false;
    const name = this.files.length === 1 ? this.files[0]!.name : `${this.files.length} files`;
    by("title").textContent = document.title = `NFS over RDMA: ${name}`;
    const client = new Client((progress) => this.take(progress));
    this.client = client;
    try {
      const order = await client.ask("order", await dissector(), named);
      this.files = order.map((place) => named[place]!);
      drawing(by("phase-legend"), await client.ask("legend"));
      await client.ask("open");
    } catch (error) {
      this.fail(error);
    }
    void this.completion.learn(client).catch((error: unknown) => this.fail(error));
  }

  private take(progress: ReadingProgress): void {
    this.progress = progress;
    const bar = by<HTMLProgressElement>("progress");
    bar.hidden = by("cancel").hidden = progress.ended;
    bar.value = progress.part;
    by("status").textContent = progress.status;
    by("status").dataset["memory"] = String(progress.memory);
    by("errors").textContent = progress.notes.join("\n");
    if (progress.ended || performance.now() - this.refreshed > REFRESH) void this.refresh(true);
  }

  /** The state in an address. Parts that are not known here are said, and taken out of it. */
  private read({ state, unknown }: Parsed): State {
    const [parts, mean] = unknown.length === 1 ? ["This part", "means"] : ["These parts", "mean"];
    by("unknown").textContent = unknown.length === 0 ? "" : `${parts} of the link ${mean} nothing to this page: ${unknown.join(", ")}`;
    if (unknown.length > 0) history.replaceState(null, "", `#${format(state)}`);
    return state;
  }

  /** Changes the state, and the address with it. */
  private set(change: Partial<State>): void {
    by("unknown").textContent = "";
    if (change.filter !== undefined) this.refusal = null;
    const state = { ...this.state, ...change };
    history.pushState(null, "", `#${format(state)}`);
    this.shown(state);
  }

  /** Selects by these words, too: whatever is clicked leaves the rest of the filter as it is. */
  private narrow(words: readonly string[], change: Partial<State> = {}): void {
    this.set({ ...change, filter: narrowed(this.state.filter, words) });
  }

  /** Shows another table, in the order that it had. */
  private view(view: string): void {
    this.set({ view, ...this.order(view) });
  }

  /** The change of state that shows the table of RPCs. */
  private rpcs(): Partial<State> {
    return { view: RPCS.view, ...this.order(RPCS.view) };
  }

  private order(view: string): Order {
    if (view === this.state.view) return this.state;
    return this.orders.get(view) ?? tableOf(view).first;
  }

  /** Sorts the table in view. */
  private sort(column: Column): void {
    this.set(pressed(this.state, column));
  }

  private shown(state: State): void {
    const before = this.state;
    this.orders.set(before.view, { sort: before.sort, descending: before.descending });
    this.state = state;
    if (this.client === undefined) return;
    const isSame = before.filter === state.filter && before.sort === state.sort && before.descending === state.descending && before.view === state.view;
    if (!isSame) void this.refresh(false);
    if (before.rpc === state.rpc) return;
    if (before.rpc === START.rpc) this.scrolled = scrollY;
    void this.showOpenRpc();
    if (state.rpc !== START.rpc) return;
    // The list is where it was.
    this.grid.focus();
    scrollTo(0, this.scrolled);
  }

  /** Asks for everything that is shown, and shows it. */
  private async refresh(isSame: boolean): Promise<void> {
    this.refreshed = performance.now();
    const turn = ++this.turn;
    const isOvertaken = (): boolean => turn !== this.turn;
    const isWhole = this.progress?.ended === true;
    const { filter, view } = this.state;
    const { sort, descending } = this.order(RPCS.view);
    if (document.activeElement !== this.filter && this.refusal === null) this.filter.value = filter;
    try {
      const { selected: [count, words], timeline, diagnosis } = await this.ask().ask("look", { filter, sort, descending });
      if (isOvertaken()) return;
      this.applied = filter;
      by("count").textContent = words;
      this.showRefusal();
      this.grid.show(count, isSame);
      this.grid.sorted({ sort, descending });
      this.timeline.show(timeline, this.brush(timeline));
      by("timeline").hidden = by("query").hidden = isWhole && this.progress?.rpcs === 0;
      showDiagnosis(by("diagnosis"), diagnosis, {
        select: (words) => {
          this.narrow(words, this.rpcs());
          by("query").scrollIntoView({ block: "start" });
        },
        findings: () => {
          this.view(FINDINGS.view);
          by("query").scrollIntoView({ block: "start" });
        },
        open: (frame) => void this.openFrame(frame),
      });
      await this.showView(view);
      if (isOvertaken()) return;
      if (isWhole && this.openRow === null && this.state.rpc !== "") await this.showOpenRpc();
      document.body.dataset["shown"] = String(isWhole);
    } catch (error) {
      if (!isOvertaken()) this.takeBack(filter, error);
    }
  }

  private async showView(view: string): Promise<void> {
    for (const tab of by("tabs").children) tab.setAttribute("aria-selected", String((tab as HTMLElement).dataset["view"] === view));
    const isGroups = view !== RPCS.view;
    by("grid").hidden = by("phase-legend").hidden = by("clock").hidden = isGroups;
    by("groups").hidden = !isGroups;
    if (!isGroups) return;
    const select = (words: readonly string[]): void => this.narrow(words, this.rpcs());
    const { filter, sort, descending } = this.state;
    const query = { filter, sort, descending };
    const sorted = { order: query, press: (column: Column) => this.sort(column) };
    const made = view === FINDINGS.view
      ? findingTable(await this.ask().ask("findings", query), sorted, { select, open: (frame) => void this.openFrame(frame) })
      : groupTable(tableOf(view), await this.ask().ask("groups", query, view), sorted, select);
    // A heading that was pressed keeps the keyboard.
    const focused = document.activeElement?.closest<HTMLElement>("#groups th")?.dataset["column"];
    by("groups").replaceChildren(made);
    if (focused !== undefined) made.querySelector<HTMLElement>(`[data-column=${focused}] button`)?.focus();
  }

  /** The selected time in seconds; null for all of it. */
  private brush({ since_ns, until_ns }: Timeline): readonly [number, number] | null {
    if (since_ns === null && until_ns === null) return null;
    return [(since_ns ?? 0) / 1e9, (until_ns ?? this.progress?.duration_ns ?? 0) / 1e9];
  }

  private async showOpenRpc(): Promise<void> {
    const section = by("rpc");
    const turn = ++this.opening;
    const isOvertaken = (): boolean => turn !== this.opening;
    const named = parseRpc(this.state.rpc);
    // Another RPC than that of the address is shown at no time.
    section.hidden = true;
    section.removeAttribute("aria-busy");
    section.replaceChildren();
    if (named === null) {
      this.openRow = null;
      return;
    }
    try {
      const index = await this.ask().ask("find", named.connection, Number(named.xid), named.frame);
      if (isOvertaken()) return;
      if (index === null) return this.missing(named);
      this.openRow = index;
      showReading(section, named);
      section.setAttribute("aria-busy", "true");
      const explained = await this.ask().ask("explain", index);
      if (isOvertaken()) return;
      section.removeAttribute("aria-busy");
      if (explained === null) throw new Error("the capture does not hold this RPC any more");
      showRpc(section, explained, this.files.map((file) => file.name), {
        close: () => this.set({ rpc: "" }),
        said: (text) => this.said(text),
      });
      section.focus({ preventScroll: true });
      section.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (isOvertaken()) return;
      section.removeAttribute("aria-busy");
      section.hidden = true;
      this.fail(error);
    }
  }

  /** Says that an RPC of the address is not there, once all is read: until then it may come. */
  private missing({ connection, xid, frame }: RpcName): void {
    if (this.progress?.ended !== true) return;
    this.openRow = null;
    this.state = { ...this.state, rpc: START.rpc };
    history.replaceState(null, "", `#${format(this.state)}`);
    by("unknown").textContent = `Not found in the open captures: RPC ${xid} on connection ${connection}, with its call or its reply in frame ${frame}`;
  }

  /** Opens the next RPC of a kind. */
  private async step(kind: Notable, backwards: boolean): Promise<void> {
    const from = this.openRow ?? 0xffff_ffff;
    const stepped = await this.ask().ask("next", from, kind, backwards);
    if (stepped === null) {
      this.said({ slow: "No RPC has a latency", failed: "No RPC has failed", waiting: "Every call has a reply" }[kind]);
      return;
    }
    const { index, place, count, is_round } = stepped;
    const round = is_round ? `, round from the ${backwards ? "first" : "last"}` : "";
    this.said(`${STEPPED[kind]}: ${place} of ${count}${round}`);
    await this.openIndex(index);
  }

  /** Opens the RPC that a frame is part of. */
  private async openFrame(frame: number): Promise<void> {
    const index = await this.ask().ask("atFrame", frame);
    if (index === null) this.said(`Frame ${frame} is part of no RPC`);
    else await this.openIndex(index);
  }

  /** Opens the RPC in a row, whether or not the row is selected: the selection stays as it is. */
  private async openIndex(index: number): Promise<void> {
    const [row, place] = await Promise.all([this.ask().ask("row", index), this.ask().ask("place", index)]);
    if (row === null) return;
    if (place !== null) this.grid.activate(place);
    this.openRow = index;
    this.set({ rpc: rpcOf(row) });
  }

  private async save(kind: SaveFormat): Promise<void> {
    const stopped = this.progress?.stopped_after ?? null;
    const stem = stopped === null ? this.stem() : `${this.stem()}-first-${stopped}-frames`;
    const names: Readonly<Record<SaveFormat, string>> = { csv: `${stem}.csv`, tcp: `${stem}-tcp.pcapng`, annotated: `${stem}-annotated.pcapng` };
    try {
      this.said("Saving");
      download(await this.ask().ask("save", kind), names[kind]);
      this.said(`Saved ${names[kind]}`);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The name of the first file, without its endings. */
  private stem(): string {
    return (this.files[0]?.name ?? "capture").replace(/(\.(pcapng|pcap|erf|cap))?(\.(gz|zst))?$/i, "");
  }

  private async savePicture(): Promise<void> {
    const caption = [document.title, this.state.filter].filter((text) => text !== "").join("; ");
    try {
      download(await picture(by("charts"), caption), `${this.stem()}-timeline.png`);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Says for a moment what was done. */
  private said(text: string): void {
    const said = by("said");
    said.textContent = text;
    clearTimeout(this.saying);
    this.saying = window.setTimeout(() => { said.textContent = ""; }, SAID);
  }

  /** Applies the text in the field, unless it is no filter. */
  private async apply(): Promise<void> {
    const attempt = ++this.attempt;
    const filter = this.filter.value.trim();
    let refusal: string | null = null;
    try {
      await this.ask().ask("check", filter);
    } catch (error) {
      refusal = message(error);
    }
    if (attempt !== this.attempt) return;
    this.refusal = refusal;
    this.showRefusal();
    if (refusal === null && filter !== this.state.filter) this.set({ filter });
  }

  /** Says why the text in the field is no filter, and what is shown instead. */
  private showRefusal(): void {
    if (this.refusal === null) this.filter.removeAttribute("aria-invalid");
    else this.filter.setAttribute("aria-invalid", "true");
    const filtered = this.applied === START.filter ? "without a filter" : `with the filter ${this.applied}`;
    const note = this.refusal === null ? "" : `${this.refusal}. Still shown, ${filtered}: ${by("count").textContent}.`;
    // A text that is set again would be read out again.
    if (by("filter-note").textContent !== note) by("filter-note").textContent = note;
  }

  /** Returns to the filter that was applied before one that an address has and that is none. */
  private takeBack(filter: string, error: unknown): void {
    if (filter === START.filter) return this.fail(error);
    if (filter === this.applied) this.applied = START.filter;
    this.refusal = message(error);
    this.filter.value = filter;
    const state = { ...this.state, filter: this.applied };
    history.replaceState(null, "", `#${format(state)}`);
    this.shown(state);
  }

  private fail(error: unknown): void {
    by("errors").textContent = message(error);
  }

  private listenForFiles(): void {
    const input = by<HTMLInputElement>("files");
    input.addEventListener("change", () => {
      if (input.files !== null && input.files.length > 0) void this.open([...input.files]);
      input.value = "";
    });
    addEventListener("dragover", (event) => {
      event.preventDefault();
      document.body.classList.add("drop");
    });
    addEventListener("dragleave", () => document.body.classList.remove("drop"));
    addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("drop");
      const files = [...event.dataTransfer?.files ?? []];
      if (files.length > 0) void this.open(files);
    });
  }

  private listenForFilters(): void {
    let timer = 0;
    this.filter.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => void this.apply(), TYPING);
    });
    by("query").addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(timer);
      void this.apply();
    });
    by("clear").addEventListener("click", () => {
      this.filter.value = START.filter;
      void this.apply();
    });
    by("link").addEventListener("click", () => void copyText(location.href).then(
      () => this.said("Copied the address of this view, for anyone who has this page and the capture"),
      () => this.said("The browser does not permit copying: copy the address of this page")));
    by("unbrush").addEventListener("click", () => this.narrow(["since=", "until="]));
  }

  private listenForKeys(): void {
    const kinds: Readonly<Record<string, Notable>> = { s: "slow", f: "failed", w: "waiting" };
    addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || this.client === undefined) return;
      const kind = kinds[event.key.toLowerCase()];
      if (kind !== undefined) void this.step(kind, event.shiftKey);
      else if (event.key === "/") this.filter.focus();
      else if (event.key === "Escape" && this.state.rpc !== "") this.set({ rpc: "" });
      else return;
      event.preventDefault();
    });
  }
}

new Page().start();
