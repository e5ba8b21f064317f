// The messages of an open page: the service announces each new one, and the page loads them.
import { later, parse, put, within } from "../../kit/ts/page";

const answerSeconds = 10;

export function feed(): void {
  const part = document.querySelector<HTMLElement>("[data-feed]");
  if (!part) return;
  let source: EventSource | undefined;
  let reopening = 0;
  let reloading = 0;
  const load = async () => {
    clearTimeout(reloading);
    try {
      const answer = await fetch(location.pathname, { headers: { "Latchkey-Script": "1" }, credentials: "same-origin", signal: within(answerSeconds) });
      if (answer.status >= 500 || answer.status === 429) throw new Error(answer.statusText);
      const next = answer.headers.get("Latchkey-Location");
      if (next) return location.replace(next); // the stay was removed from this device in another tab
      if (!answer.ok) return location.reload(); // the page says why
      const page = parse(await answer.text());
      put("older", page); // the page begins with a later message, and so does the one before it
      put("messages", page);
    } catch {
      if (!document.hidden) reloading = later(load);
    }
  };
  const open = (missed: boolean) => {
    const stream = new EventSource(part.dataset.feed!);
    source = stream;
    stream.onmessage = () => void load();
    stream.onopen = () => {
      if (missed) void load(); // whatever came meanwhile
      missed = false;
    };
    stream.addEventListener("refused", () => {
      stream.close();
      location.reload(); // the page says why
    });
    stream.onerror = () => {
      missed = true;
      if (source !== stream || stream.readyState !== EventSource.CLOSED) return; // the browser tries again
      reopening = later(() => open(true)); // an HTTP error ended it
      void load(); // which shows why if the session has ended
    };
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source?.close();
      source = undefined;
      clearTimeout(reopening);
      clearTimeout(reloading);
    } else if (!source) open(true);
  });
  if (!document.hidden) open(false);
}
