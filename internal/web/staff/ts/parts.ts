// Puts the parts of a fetched page in place around what a person uses: a focused field, a typed text and an open menu stay.
import { put } from "../../kit/ts/page";

const fields = "input:not([type=hidden]), textarea, select";

/** Reports whether a field has another value than the page gave it. */
function isChanged(field: Element): boolean {
  if (field instanceof HTMLSelectElement) {
    const given = [...field.options].some((o) => o.defaultSelected);
    return [...field.options].some((o, i) => o.selected !== (given || field.multiple ? o.defaultSelected : i === 0));
  }
  const input = field as HTMLInputElement;
  return input.type === "checkbox" || input.type === "radio" ? input.checked !== input.defaultChecked : input.value !== input.defaultValue;
}

/** Reports whether a person would lose something with an element: a field that has the focus or was changed, an open menu with a text or an error,
 *  or an open menu that cannot be found again. */
function holds(e: Element): boolean {
  if ([e, ...e.querySelectorAll(fields)].some((f) => f.matches(fields) && (f === document.activeElement || isChanged(f)))) return true;
  return menus(e).some((menu) => !menu.id || menu.querySelector("[aria-invalid]") || [...menu.querySelectorAll(fields)].some((f) => (f as HTMLInputElement).type !== "checkbox" && (f as HTMLInputElement).value !== ""));
}

const menus = (e: Element) => [e, ...e.querySelectorAll("details")].filter((m) => m.matches("details[open]"));
const find = (e: Element, id: string) => (e.id === id ? e : e.querySelector(`#${CSS.escape(id)}`));

/** Reports whether a person is in an element, so that it cannot be replaced without a look at what is in it. */
const isInUse = (e: Element) => e.contains(document.activeElement) || menus(e).length > 0 || holds(e);

/** Reports whether two elements show the same. Each rendering has its own form keys, and a person opens menus. */
function same(a: Element, b: Element): boolean {
  const text = (e: Element) => e.outerHTML.replace(/name="key" value="[^"]*"|(<details[^>]*) open=""/g, "$1");
  return text(a) === text(b);
}

/** Returns the element of the fetched page that is what the focused element is of this one, or null. Without an id, it is the one at the same place
 *  in the nearest element with an id, if it has the same text. */
function twin(focus: Element, now: Element, next: Element): HTMLElement | null {
  if (focus.id) return find(next, focus.id) as HTMLElement | null;
  const near = focus.closest("[id]");
  const [from, to] = near && now.contains(near) ? [near, find(next, near.id)] : [now, next];
  const at = [from, ...from.querySelectorAll(focus.localName)].indexOf(focus);
  const found = to && [to, ...to.querySelectorAll(focus.localName)][at];
  return found?.textContent === focus.textContent ? (found as HTMLElement) : null;
}

/** Replaces an element, opens its menus again and gives the focus back. Returns whether it had to leave the element. */
function replace(now: Element, next: Element): boolean {
  const focus = document.activeElement;
  const inside = focus !== null && now.contains(focus);
  const to = inside ? twin(focus, now, next) : null;
  if (holds(now) || (inside && !to) || menus(now).some((menu) => !find(next, menu.id))) return true;
  for (const { id } of menus(now)) find(next, id)?.setAttribute("open", "");
  now.replaceWith(next);
  to?.focus({ preventScroll: true });
  return false;
}

/** Makes an element like the fetched one, and leaves only the smallest parts of it that a person uses. Returns whether it left some. */
function merge(now: Element, next: Element): boolean {
  if (same(now, next)) return false;
  if (!isInUse(now)) {
    now.replaceWith(next);
    return false;
  }
  // What is one thing for a person is not mixed: text, a form, a row that may be that of another object.
  const hasText = (e: Element) => [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent!.trim() !== "");
  if (hasText(now) || hasText(next) || now.matches("details, form, li:not([id]), tr:not([id])")) return replace(now, next);
  const [old, fresh] = [[...now.children], [...next.children]];
  const hasIDs = (all: Element[]) => all.length > 0 && all.every((e) => e.id);
  if (hasIDs(old) && hasIDs(fresh)) return mergeRows(now, old, fresh);
  if (!old.length || old.length !== fresh.length || old.some((e, i) => e.localName !== fresh[i].localName || e.id !== fresh[i].id)) return replace(now, next);
  now.className = next.className;
  return old.map((e, i) => merge(e, fresh[i])).includes(true);
}

/** Makes the rows of a list like the fetched ones. Each row has an id. */
function mergeRows(list: Element, old: Element[], fresh: Element[]): boolean {
  const ids = new Set(fresh.map((row) => row.id));
  let left = false;
  for (const row of old) {
    if (ids.has(row.id)) continue;
    if (isInUse(row)) left = true;
    else row.remove();
  }
  let at = list.firstElementChild;
  for (const row of fresh) {
    const there = old.find((o) => o.id === row.id);
    if (there && there !== at && isInUse(there)) left = true; // it would lose the focus on the way
    else if (there !== at || !at) list.insertBefore(there ?? row, at);
    else at = at.nextElementSibling;
    if (there) left = merge(there, row) || left;
  }
  return left;
}

/** Puts the parts of a fetched page in place and marks the rows that changed. Returns whether something in use was not replaced. */
export function refresh(from: Document): boolean {
  let left = false;
  for (const part of document.querySelectorAll("[data-part]")) {
    const next = from.getElementById(part.id);
    if (!next) continue;
    const text = () => new Map([...(document.getElementById(part.id)?.querySelectorAll("tr[id]") ?? [])].map((row) => [row.id, row.textContent]));
    const before = text();
    if (isInUse(part)) left = merge(part, next) || left;
    else put(part.id, from);
    for (const [id, shown] of text()) if (before.size && before.get(id) !== shown) document.getElementById(id)!.classList.add("changed");
  }
  return left;
}
