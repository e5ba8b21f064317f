// The palette: a dialog in which a person finds a stay or a page with the keyboard. Ctrl+K opens it on every page.
import { parse, within } from "../../kit/ts/page";

const typingPause = 150; // milliseconds without a key before the service is asked
const answerSeconds = 10;

/** Returns what opens the palette. */
export function palette(): () => void {
  const dialog = document.getElementById("palette") as HTMLDialogElement | null;
  if (!dialog) return () => {};
  const [input, list] = [dialog.querySelector("input")!, dialog.querySelector<HTMLElement>("[role=listbox]")!];
  const none = dialog.querySelector<HTMLElement>("[data-none]")!;
  let asked = 0; // an answer to an older question is not shown
  let waiting = 0;
  let chosen = 0;
  const options = () => [...list.children] as HTMLElement[];
  const choose = (index: number) => {
    const all = options();
    chosen = all.length ? (index + all.length) % all.length : 0;
    all.forEach((o, i) => o.setAttribute("aria-selected", String(i === chosen)));
    if (all.length) input.setAttribute("aria-activedescendant", all[chosen].id);
    else input.removeAttribute("aria-activedescendant");
    all[chosen]?.scrollIntoView({ block: "nearest" });
  };
  const show = (links: Element[]) => {
    list.replaceChildren(...links.map((link, i) => {
      const option = document.createElement("li");
      option.id = `option-${i}`;
      option.role = "option";
      option.dataset.to = link.getAttribute("href")!;
      option.append(...link.childNodes);
      return option;
    }));
    none.hidden = links.length > 0;
    choose(0);
  };
  const ask = async () => {
    const question = ++asked;
    try {
      const answer = await fetch("/app/palette?" + new URLSearchParams({ q: input.value }), { headers: { "Latchkey-Script": "1" }, signal: within(answerSeconds) });
      const moved = answer.headers.get("Latchkey-Location");
      if (moved) return location.assign(moved);
      if (answer.ok && question === asked) show([...parse(await answer.text()).querySelectorAll("#found a")]);
    } catch {
      // the person types on, or closes the dialog
    }
  };
  const open = () => {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
    void ask();
  };
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => void ask(), typingPause);
  });
  input.addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      choose(chosen + (e.key === "ArrowDown" ? 1 : -1));
    } else if (e.key === "Enter" && !e.isComposing) {
      e.preventDefault();
      const to = options()[chosen]?.dataset.to;
      if (to) location.assign(to);
    }
  });
  list.addEventListener("click", (e) => {
    const to = (e.target as Element).closest<HTMLElement>("[data-to]")?.dataset.to;
    if (to) location.assign(to);
  });
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close()); // a click on the backdrop
  document.addEventListener("keydown", (e) => {
    const shortcut = (e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === "k";
    if (!shortcut) return;
    e.preventDefault();
    open();
  });
  for (const link of document.querySelectorAll("[data-palette]"))
    link.addEventListener("click", (e) => {
      e.preventDefault();
      open();
    });
  return open;
}
