// Mapping by drag: a free space of the PMS, or the one of another row, is dropped on a row and chosen in its field. The form is then as if the
// person had chosen it there, so that the keyboard and a preview work alike. Pointer events work for fingers, too.

const startPixels = 6; // a shorter way is a click
const edgePixels = 24; // near the upper and the lower edge of the window, the page scrolls

type Held = { from: HTMLElement; value: string; text: string; bed: boolean; ghost: HTMLElement };

const choiceOf = (row: Element | null) => row?.querySelector("select") ?? null;

function choose(select: HTMLSelectElement, value: string, text: string): void {
  if (![...select.options].some((o) => o.value === value)) select.add(new Option(text, value));
  select.value = value;
  select.closest("tr")!.classList.add("changed");
}

/** What a handle stands for: a free space of the PMS, or what its row has chosen. */
function read(handle: HTMLElement): Omit<Held, "ghost"> | undefined {
  if (handle.dataset.drag) return { from: handle, value: handle.dataset.drag, text: handle.textContent!.trim(), bed: "bed" in handle.dataset };
  const chosen = choiceOf(handle.closest("tr"))?.selectedOptions[0];
  return chosen?.value ? { from: handle, value: chosen.value, text: chosen.text, bed: "bed" in handle.dataset } : undefined;
}

/** Puts what is held into a row's field, and takes it out of the field where it was. */
function drop(held: Held, row: Element): void {
  for (const other of document.querySelectorAll<HTMLSelectElement>(".places select")) {
    if (other.value === held.value) choose(other, "", "");
  }
  choose(choiceOf(row)!, held.value, held.text);
  choiceOf(row)!.focus({ preventScroll: true });
  for (const free of document.querySelectorAll<HTMLElement>("[data-drag]:not([data-drag=''])")) {
    free.hidden = [...document.querySelectorAll<HTMLSelectElement>(".places select")].some((s) => s.value === free.dataset.drag);
  }
}

export function dragging(): void {
  for (const part of document.querySelectorAll<HTMLElement>("[data-drags]")) part.hidden = false;
  let held: Held | undefined;
  let over: Element | null = null;
  const mark = (row: Element | null) => {
    over?.classList.remove("over-row");
    over = row;
    over?.classList.add("over-row");
  };
  const end = () => {
    held?.ghost.remove();
    held = undefined;
    mark(null);
  };
  const rowAt = (x: number, y: number) => {
    const row = document.elementFromPoint(x, y)?.closest(".places tbody tr") ?? null;
    const bed = row?.querySelector("[data-drag]")?.hasAttribute("data-bed");
    return choiceOf(row) && bed === held!.bed ? row : null;
  };
  document.addEventListener("pointerdown", (e) => {
    const handle = (e.target as Element).closest<HTMLElement>("[data-drag]");
    const what = handle && e.button === 0 && e.isPrimary ? read(handle) : undefined;
    if (!what) return;
    const [x, y] = [e.clientX, e.clientY];
    const stop = new AbortController();
    const on = <K extends keyof DocumentEventMap>(name: K, run: (e: DocumentEventMap[K]) => void) => document.addEventListener(name, run, { signal: stop.signal });
    on("pointermove", (m) => {
      if (!held && Math.hypot(m.clientX - x, m.clientY - y) > startPixels) {
        const ghost = document.createElement("span");
        ghost.className = "chip info ghost";
        ghost.textContent = what.text;
        document.body.append(ghost);
        held = { ...what, ghost };
      }
      if (!held) return;
      held.ghost.style.translate = `${m.clientX + 8}px ${m.clientY + 8}px`;
      mark(rowAt(m.clientX, m.clientY));
      scrollBy(0, m.clientY > innerHeight - edgePixels ? edgePixels : m.clientY < edgePixels ? -edgePixels : 0);
    });
    on("pointerup", () => {
      if (held && over) drop(held, over);
      stop.abort();
      end();
    });
    const cancel = () => {
      stop.abort();
      end();
    };
    on("pointercancel", cancel);
    on("keydown", (k) => k.key === "Escape" && cancel());
    e.preventDefault(); // no text is selected on the way
  });
}
