package browser

import "fmt"

// clock keeps the timers of a page's scripts, so that Pass can bring them forward. They also run at their own time: a page goes on as
// it always does. The service worker has a clock of its own.
const clock = `(() => {
	const timers = new Map();
	let passed = 0;
	const now = () => performance.now() + passed;
	for (const kind of ["Timeout", "Interval"]) {
		const set = window["set" + kind].bind(window), clear = window["clear" + kind].bind(window);
		window["set" + kind] = (run, every = 0, ...args) => {
			const timer = {every, due: now() + every, repeats: kind === "Interval"};
			const id = set(() => timer.run(), every);
			timer.run = () => {
				if (timer.repeats) timer.due = now() + every;
				else { clear(id); timers.delete(id); }
				run(...args);
			};
			timers.set(id, timer);
			return id;
		};
		window["clear" + kind] = (id) => { clear(id); timers.delete(id); };
	}
	Object.defineProperty(window, "passTime", {value: (ms) => {
		const until = passed + ms, end = now() + ms;
		for (let n = 0; n < 10000; n++) {
			const next = [...timers.values()].filter((t) => t.due <= end).sort((a, b) => a.due - b.due)[0];
			if (!next) break;
			passed += Math.max(0, next.due - now());
			next.run();
		}
		passed = Math.max(passed, until);
	}});
})()`

// WithClock lets Pass bring the timers of the page's scripts forward.
func WithClock(c *settings) { c.clock = true }

// Pass lets seconds pass for the timers of the page's scripts, without waiting. The page was opened WithClock.
func (p *Page) Pass(seconds int) {
	p.t.Helper()
	p.Script(fmt.Sprintf("passTime(%d)", 1000*seconds))
}
