// The messages of an open page: the service announces each new one, and the page loads them.
import { parse, put, within } from "../../kit/ts/page";

const answerSeconds = 10;

export function feed(): void {
  const part = document.querySelector<HTMLElement>("[data-feed]");
  if (!part) return;
  let source: EventSource | undefined;
  let away = false;
  const load = async () => {
    const answer = await fetch(location.pathname, { headers: { "Latchkey-Script": "1" }, credentials: "same-origin", signal: within(answerSeconds) });
    if (answer.ok) put("messages", parse(await answer.text()));
  };
  const open = () => {
    source = new EventSource(part.dataset.feed!);
    source.onmessage = () => void load().catch(() => {});
    source.onopen = () => {
      if (away) void load().catch(() => {}); // whatever came meanwhile
      away = false;
    };
    source.addEventListener("refused", () => {
      source?.close();
      location.reload(); // the page says why
    });
    source.onerror = () => (away = true);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source?.close();
      source = undefined;
      away = true;
    } else if (!source) open();
  });
  if (!document.hidden) open();
}
