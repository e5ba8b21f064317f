// The only place that makes HTML of a text: a page of this server.
declare const trustedTypes: any;

const policy = typeof trustedTypes === "undefined" ? undefined : trustedTypes.createPolicy("latchkey", {
  createHTML: (html: string) => html,
  createScriptURL: (url: string) => url,
});

export function parse(html: string): Document {
  return new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
}

export function workerURL(url: string): string {
  return policy ? policy.createScriptURL(url) : url;
}

/** Aborts a request that has no answer after a number of seconds. */
export function within(seconds: number): AbortSignal {
  const limit = new AbortController();
  setTimeout(() => limit.abort(), 1000 * seconds);
  return limit.signal;
}

const retrySeconds = 5;

/** Runs a task after a while, not on all open pages at the same time. */
export const later = (task: () => void) => setTimeout(task, 1000 * retrySeconds * (1 + Math.random()));

/** Compares two elements without the form keys: each rendering has its own, and a person does not see them. */
function same(a: Element, b: Element): boolean {
  const text = (e: Element) => e.outerHTML.replace(/name="key" value="[^"]*"/g, "");
  return text(a) === text(b);
}

/** Puts a part of a fetched page in the place of the part with the same id. Its element stays, so that a screen reader says what is new,
 *  and so does the focus. */
export function put(id: string, from: Document): void {
  const now = document.getElementById(id);
  const next = from.getElementById(id);
  if (!now || !next || same(now, next)) return;
  const held = document.activeElement?.id;
  for (const name of now.getAttributeNames()) if (!next.hasAttribute(name)) now.removeAttribute(name);
  for (const name of next.getAttributeNames()) now.setAttribute(name, next.getAttribute(name)!);
  if (now.localName === "ol") putItems(now, next);
  else now.replaceChildren(...next.childNodes);
  if (held) document.getElementById(held)?.focus();
}

/** Puts the items of a fetched list in the place of a list. What is the same stays, so that a screen reader says only what is new. */
function putItems(now: Element, next: Element): void {
  const fresh = [...next.children];
  const first = fresh[0]?.id ? [...now.children].findIndex((old) => old.id === fresh[0].id) : 0;
  for (const gone of [...now.children].slice(0, first < 0 ? undefined : first)) gone.remove(); // the list begins with a later item
  for (const gone of [...now.children].slice(fresh.length)) gone.remove();
  fresh.forEach((item, i) => {
    const old = now.children[i];
    if (!old) now.append(item);
    else if (old.localName === "li" && old.className === item.className) putItems(old, item);
    else if (!same(old, item)) old.replaceWith(item);
  });
}

/** Shows a fetched page in the place of this one, with its own address. */
export function show(from: Document): void {
  document.title = from.title;
  document.body.dataset.idle = from.body.dataset.idle ?? "";
  put("main", from);
  const foot = document.getElementById("foot");
  if (foot) foot.hidden = !from.getElementById("foot");
  put("foot", from);
  focusFirst();
}

/** Moves the focus to the error summary, if there is one. */
export function focusFirst(): void {
  document.getElementById("errors")?.focus();
}
