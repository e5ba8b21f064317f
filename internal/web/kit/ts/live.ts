// Parts of a page that are fetched again until they say that they are complete.
import { parse, put, within } from "./page";

const script = { headers: { "Latchkey-Script": "1" }, credentials: "same-origin" as const };
const answerSeconds = 10;

export function live(moved: (url: string) => void, lost: () => void): void {
  let failures = 0;
  const parts = () => [...document.querySelectorAll<HTMLElement>("[data-live]")]; // all of one address
  const wait = () => {
    const [part] = parts();
    setTimeout(part ? () => refresh(part) : wait, 1000 * Number(part?.dataset.every ?? 1));
  };
  const refresh = async (part: HTMLElement) => {
    if (document.hidden) return wait();
    try {
      const answer = await fetch(part.dataset.live!, { ...script, signal: within(answerSeconds) });
      failures = 0;
      const next = answer.headers.get("Latchkey-Location");
      if (next) return moved(next);
      if (answer.ok) {
        const page = parse(await answer.text());
        const codes = (of: Document) => of.querySelector<HTMLElement>("[data-codes]")?.dataset.codes;
        if (codes(page) !== codes(document)) return moved(location.pathname); // this page may show a PIN that no longer works
        for (const { id } of parts()) put(id, page);
        if (part.dataset.live === location.pathname) document.title = page.title; // and not that of a page of parts
      }
    } catch {
      if (++failures > 3) return lost();
    }
    wait();
  };
  wait();
}
