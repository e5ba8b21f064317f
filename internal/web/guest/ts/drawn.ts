// Signatures that are drawn on a canvas. They are sent as numbers: strokes joined by ";", each with points "x,y" joined by a space.
type Point = [number, number];

const most = { points: 3500, strokes: 256 }; // as text at most 32 KiB
const step = 4; // nearer points are left out
const small = 50; // a drawing is at least this wide or high
const drawings = new WeakMap<HTMLCanvasElement, Point[][]>();

const canvasOf = (e: Event) => (e.target as Element).closest<HTMLCanvasElement>("form[data-drawn] canvas");
const strokesOf = (c: HTMLCanvasElement) => drawings.get(c) ?? drawings.set(c, []).get(c)!;

function pointOf(c: HTMLCanvasElement, e: PointerEvent): Point {
  const box = c.getBoundingClientRect();
  const scale = (at: number, from: number, to: number) => Math.round(Math.min(1, Math.max(0, at / from)) * to);
  return [scale(e.clientX - box.left, box.width, c.width), scale(e.clientY - box.top, box.height, c.height)];
}

function paint(c: HTMLCanvasElement): void {
  const pen = c.getContext("2d")!;
  pen.clearRect(0, 0, c.width, c.height);
  pen.strokeStyle = getComputedStyle(c).color;
  pen.lineWidth = 6;
  pen.lineCap = pen.lineJoin = "round";
  for (const stroke of strokesOf(c)) {
    pen.beginPath();
    pen.moveTo(...stroke[0]);
    for (const point of stroke) pen.lineTo(...point);
    pen.stroke();
  }
}

function add(c: HTMLCanvasElement, e: PointerEvent, fresh: boolean): void {
  const strokes = strokesOf(c);
  const point = pointOf(c, e);
  if (strokes.flat().length >= most.points) return;
  if (fresh) {
    if (strokes.length >= most.strokes) return;
    strokes.push([point]);
  } else {
    const stroke = strokes[strokes.length - 1];
    const [x, y] = stroke[stroke.length - 1];
    if (Math.hypot(point[0] - x, point[1] - y) < step) return;
    stroke.push(point);
  }
  paint(c);
}

function isSmall(strokes: Point[][]): boolean {
  const extent = (axis: 0 | 1) => {
    const all = strokes.flat().map((p) => p[axis]);
    return Math.max(...all) - Math.min(...all);
  };
  return strokes.length === 0 || Math.max(extent(0), extent(1)) < small;
}

document.addEventListener("pointerdown", (e) => {
  const c = canvasOf(e);
  if (!c || !e.isPrimary || e.button !== 0) return;
  e.preventDefault();
  c.closest("form")!.querySelector<HTMLElement>("[data-small]")!.hidden = true;
  c.setPointerCapture(e.pointerId);
  add(c, e, true);
});
document.addEventListener("pointermove", (e) => {
  const c = canvasOf(e);
  if (c?.hasPointerCapture(e.pointerId)) add(c, e, false);
});
document.addEventListener("click", (e) => {
  const form = (e.target as Element).closest("[data-clear]")?.closest("form");
  const c = form?.querySelector("canvas");
  if (!c) return;
  drawings.delete(c);
  paint(c);
});
// The other listeners send the form: they must not see a drawing that is too small.
document.addEventListener("submit", (e) => {
  const form = e.target as HTMLFormElement;
  const c = form.querySelector<HTMLCanvasElement>("canvas");
  if (!("drawn" in form.dataset) || !c) return;
  const strokes = strokesOf(c);
  if (isSmall(strokes)) {
    e.preventDefault();
    e.stopImmediatePropagation();
    form.querySelector<HTMLElement>("[data-small]")!.hidden = false;
    return;
  }
  (form.elements.namedItem("drawing") as HTMLInputElement).value = strokes.map((s) => s.map((p) => p.join(",")).join(" ")).join(";");
}, { capture: true });

export {};
