package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Roles of elements in the accessibility tree.
var (
	pressable = []string{"button", "link", "checkbox", "radio", "switch", "DisclosureTriangle", "tab"}
	fillable  = []string{"textbox", "searchbox", "spinbutton", "combobox"}
)

// Click presses the button, link, radio button, switch or checkbox that a screen reader would announce with this name.
func (p *Page) Click(name string) {
	p.t.Helper()
	p.click(byName(name, pressable))
}

// ClickAt presses the element that matches a CSS selector, for pages in any language. It waits until exactly one such element is visible.
func (p *Page) ClickAt(selector string) {
	p.t.Helper()
	p.click(bySelector(selector))
}

// FillAt replaces the text of the field that matches a CSS selector, for pages in any language.
func (p *Page) FillAt(selector, text string) {
	p.t.Helper()
	p.click(bySelector(selector))
	p.replaceText(text)
}

// Next presses the button or link with a name, and waits until the next page has this heading.
func (p *Page) Next(name, heading string) {
	p.t.Helper()
	p.Click(name)
	p.WaitHeading(heading)
}

// Fill replaces the text of the field with this label.
func (p *Page) Fill(label, text string) {
	p.t.Helper()
	p.click(byName(label, fillable))
	p.replaceText(text)
}

// replaceText replaces the text of the field that has the focus.
func (p *Page) replaceText(text string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(kb.Backspace))
	if text != "" {
		call(p, input.InsertText, input.InsertTextParams{Text: text})
	}
}

// Choose selects the option with this text in the select element with this label.
func (p *Page) Choose(label, option string) {
	p.t.Helper()
	node := p.find(byName(label, []string{"combobox", "listbox"}))
	found := p.callOn(node, `function (text) {
		const o = [...this.options].find(o => o.text.trim() === text);
		if (!o) return false;
		this.value = o.value;
		this.dispatchEvent(new Event("input", {bubbles: true}));
		this.dispatchEvent(new Event("change", {bubbles: true}));
		return true;
	}`, option)
	if string(found) != "true" {
		p.fatal("the field %q has no option %q", label, option)
	}
}

// Upload selects a file of the disk in the file field that matches a CSS selector.
func (p *Page) Upload(selector, path string) {
	p.t.Helper()
	call(p, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, BackendNodeID: p.find(bySelector(selector))})
}

// Value returns the value of the field with this label.
func (p *Page) Value(label string) (value string) {
	p.t.Helper()
	p.check(json.Unmarshal(p.callOn(p.find(byName(label, fillable)), `function () { return this.value }`), &value))
	return value
}

// Press presses a key, for example kb.Enter.
func (p *Page) Press(key string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(key))
}

// target is an element that an action needs. find fails unless exactly one element of the present page matches.
type target struct {
	what string // for the message of a test that does not find it
	find func(ctx context.Context) (cdp.BackendNodeID, error)
}

// byName returns the target with an accessible name and one of the roles.
func byName(name string, roles []string) target {
	return target{fmt.Sprintf("element named %q", name), func(ctx context.Context) (cdp.BackendNodeID, error) {
		nodes, err := named(ctx, name, roles)
		if err != nil {
			return 0, err
		}
		if len(nodes) != 1 {
			return 0, fmt.Errorf("%d elements named %q have a role of %s", len(nodes), name, strings.Join(roles, ", "))
		}
		return nodes[0].BackendDOMNodeID, nil
	}}
}

// bySelector returns the target that is visible and matches a CSS selector.
func bySelector(selector string) target {
	return target{fmt.Sprintf("element %q", selector), func(ctx context.Context) (cdp.BackendNodeID, error) {
		document, err := chromedp.Call(ctx, dom.GetDocument, dom.GetDocumentParams{})
		if err != nil {
			return 0, err
		}
		all, err := chromedp.Call(ctx, dom.QuerySelectorAll, dom.QuerySelectorAllParams{NodeID: document.Root.NodeID, Selector: selector})
		if err != nil {
			return 0, err
		}
		var shown []cdp.BackendNodeID
		for _, id := range all.NodeIDs {
			node, err := chromedp.Call(ctx, dom.DescribeNode, dom.DescribeNodeParams{NodeID: id})
			if err != nil {
				return 0, err
			}
			box, err := chromedp.Call(ctx, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: node.Node.BackendNodeID})
			if err == nil && len(box.Quads) > 0 {
				shown = append(shown, node.Node.BackendNodeID)
			}
		}
		if len(shown) != 1 {
			return 0, fmt.Errorf("%d elements %q are shown", len(shown), selector)
		}
		return shown[0], nil
	}}
}

// find waits for a target and returns it.
func (p *Page) find(e target) (found cdp.BackendNodeID) {
	p.t.Helper()
	p.await(e.what, func(ctx context.Context) (ok bool, err error) {
		found, err = e.find(ctx)
		return err == nil, err
	})
	return found
}

// named returns the elements with this accessible name and one of the roles, in the accessibility tree of the page.
func named(ctx context.Context, name string, roles []string) ([]*accessibility.Node, error) {
	document, err := chromedp.Call(ctx, dom.GetDocument, dom.GetDocumentParams{})
	if err != nil {
		return nil, err
	}
	found, err := chromedp.Call(ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{
		BackendNodeID: document.Root.BackendNodeID, AccessibleName: name,
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found.Nodes, func(n *accessibility.Node) bool {
		if n.Ignored || n.Role == nil {
			return true
		}
		var role string
		return json.Unmarshal(n.Role.Value, &role) != nil || !slices.Contains(roles, role)
	}), nil
}

// Hold presses the button with this name, and releases it when the page shows a text.
func (p *Page) Hold(name, until string) {
	p.t.Helper()
	release := p.PressDown(name)
	p.WaitText(until)
	release()
}

// PressDown presses the button with this name, and returns what releases it.
func (p *Page) PressDown(name string) (release func()) {
	p.t.Helper()
	x, y := p.centre(byName(name, pressable))
	e := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}
	call(p, input.DispatchMouseEvent, e)
	e.Type, e.Buttons = input.DispatchMouseEventTypeMouseReleased, 0
	return func() { call(p, input.DispatchMouseEvent, e) }
}

// click scrolls to a target and presses its center with the mouse.
func (p *Page) click(e target) {
	p.t.Helper()
	x, y := p.centre(e)
	p.do(chromedp.MouseClickXY(x, y))
}

// centre waits for a target in a loaded page, scrolls to it and returns its center. A page moves its elements when its style sheet is loaded. It
// looks for the target again after an error, because a page that is being replaced loses its elements.
func (p *Page) centre(e target) (x, y float64) {
	p.t.Helper()
	p.await(e.what, func(ctx context.Context) (bool, error) {
		node, err := e.find(ctx)
		if err != nil {
			return false, err
		}
		if loaded, err := chromedp.Run(ctx, chromedp.Evaluate[bool](isLoaded)); err != nil || !loaded {
			return false, err
		}
		if _, err := chromedp.Call(ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: node}); err != nil {
			return false, err
		}
		box, err := chromedp.Call(ctx, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: node})
		if err != nil {
			return false, err
		}
		if len(box.Quads) == 0 {
			return false, errors.New("the element has no area")
		}
		q := box.Quads[0]
		x, y = (q[0]+q[2]+q[4]+q[6])/4, (q[1]+q[3]+q[5]+q[7])/4
		return true, nil
	})
	return x, y
}

// Drag drags one element to another with the mouse. from and to are CSS selectors.
func (p *Page) Drag(from, to string) {
	p.t.Helper()
	middle := func(selector string) (x, y float64) {
		box := evaluate[[]float64](p, fmt.Sprintf(`(() => {
			const b = document.querySelector(%q).getBoundingClientRect();
			return [b.left + b.width / 2, b.top + b.height / 2];
		})()`, selector))
		return box[0], box[1]
	}
	evaluate[bool](p, fmt.Sprintf(`(document.querySelector(%q).scrollIntoView({block: "center", behavior: "instant"}), true)`, to))
	e := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMousePressed, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}
	e.X, e.Y = middle(from)
	call(p, input.DispatchMouseEvent, e)
	e.Type, e.ClickCount = input.DispatchMouseEventTypeMouseMoved, 0
	for range 2 { // the first way starts the drag
		e.X, e.Y = middle(to)
		call(p, input.DispatchMouseEvent, e)
	}
	e.Type, e.Buttons, e.ClickCount = input.DispatchMouseEventTypeMouseReleased, 0, 1
	call(p, input.DispatchMouseEvent, e)
}

// Draw draws a line with the mouse on the element that matches a CSS selector. Each point has its x and y as fractions of the element's
// width and height.
func (p *Page) Draw(selector string, points ...[2]float64) {
	p.t.Helper()
	box := evaluate[[]float64](p, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: "center", behavior: "instant"});
		const b = e.getBoundingClientRect();
		return [b.left, b.top, b.width, b.height];
	})()`, selector))
	for i, point := range points {
		e := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: box[0] + point[0]*box[2], Y: box[1] + point[1]*box[3], Button: input.MouseButtonLeft, Buttons: 1}
		if i == 0 {
			e.Type, e.ClickCount = input.DispatchMouseEventTypeMousePressed, 1
		}
		call(p, input.DispatchMouseEvent, e)
		if i == len(points)-1 {
			e.Type, e.Buttons, e.ClickCount = input.DispatchMouseEventTypeMouseReleased, 0, 1
			call(p, input.DispatchMouseEvent, e)
		}
	}
}

// callOn calls a JavaScript function with an element as its "this" and the arguments, and returns its result as JSON.
func (p *Page) callOn(node cdp.BackendNodeID, function string, args ...any) json.RawMessage {
	p.t.Helper()
	object := call(p, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node}).Object
	arguments := make([]*runtime.CallArgument, len(args))
	for i, a := range args {
		value, err := json.Marshal(a)
		p.check(err)
		arguments[i] = &runtime.CallArgument{Value: value}
	}
	byValue := true
	r := call(p, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: function, ObjectID: object.ObjectID, Arguments: arguments, ReturnByValue: &byValue,
	})
	if r.ExceptionDetails != nil {
		p.fatal("browser: %s", r.ExceptionDetails.Text)
	}
	return json.RawMessage(r.Result.Value)
}

// quote returns a JavaScript string literal.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is always JSON
	}
	return string(b)
}
