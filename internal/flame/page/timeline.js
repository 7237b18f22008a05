// timeline.js: what each thread did when. Running is a tall box in the colour of the innermost function, waiting a
// thin line, and waiting for a processor a low red box.

const LANE = 24 // pixels of a thread
const GUTTER = 190 // for the names of threads
const AXIS = 22
const RUNNING = 1 // states; 0: waiting
const READY = 2

class Timeline {
  constructor(canvas, scroller, flames, model, data) {
    this.canvas = canvas
    this.scroller = scroller
    this.flames = flames
    this.context = canvas.getContext('2d', {alpha: false})
    this.matched = null // by node
    this.load(model, data)
  }

  load(model, data) {
    const all = !(this.right < this.end) && !(this.left > 0)
    this.model = model
    this.matched = null
    this.read(data)
    if (all) this.reset()
    this.resize()
  }

  // read makes the lanes: processes in the order of their births, those of the same process together, the one that ran
  // longest first.
  read(data) {
    this.end = 0
    this.lanes = data.map(({thread, spans}) => {
      const n = spans.length / 3
      const lane = {thread, from: new Float64Array(n), to: new Float64Array(n), node: new Int32Array(n), state: new Uint8Array(n), busy: 0}
      let at = 0
      for (let i = 0; i < n; i++) {
        lane.from[i] = at += spans[3 * i]
        lane.to[i] = at += spans[3 * i + 1]
        lane.node[i] = spans[3 * i + 2] >> 2
        lane.state[i] = spans[3 * i + 2] & 3
        if (lane.state[i] === RUNNING) lane.busy += spans[3 * i + 1]
      }
      this.end = Math.max(this.end, at)
      return lane
    })
    const pid = lane => this.model.threads[lane.thread].pid
    const born = new Map()
    for (const lane of this.lanes) {
      born.set(pid(lane), Math.min(born.get(pid(lane)) ?? Infinity, lane.from[0] ?? Infinity))
    }
    const first = (a, b) => a < b ? -1 : a > b ? 1 : 0
    this.lanes.sort((a, b) => first(born.get(pid(a)), born.get(pid(b))) || pid(a) - pid(b) || b.busy - a.busy)
  }

  reset() {
    this.left = 0
    this.right = this.end
    this.selected = 0
    this.changed()
  }

  resize() {
    const {clientWidth: width, clientHeight: height} = this.scroller
    if (width === 0) return
    const ratio = this.ratio = window.devicePixelRatio || 1
    this.width = width
    this.height = height
    this.canvas.width = Math.round(width * ratio)
    this.canvas.height = Math.round(height * ratio)
    this.canvas.style.width = `${width}px`
    this.canvas.style.height = `${height}px`
    this.scroller.firstElementChild.style.height = `${Math.max(AXIS + this.lanes.length * LANE, height)}px`
    this.draw()
  }

  draw() {
    if (this.wanted) return
    this.wanted = true
    requestAnimationFrame(() => {
      this.wanted = false
      if (this.width > 0) this.paint()
    })
  }

  x(time) { return GUTTER + (time - this.left) / (this.right - this.left) * (this.width - GUTTER) }
  time(x) { return this.left + (x - GUTTER) / (this.width - GUTTER) * (this.right - this.left) }

  paint() {
    const c = this.context
    const {colours} = this.flames
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0)
    c.fillStyle = colours.back
    c.fillRect(0, 0, this.width, this.height)
    c.font = FONT
    c.textBaseline = 'middle'
    this.top = this.scroller.scrollTop
    const first = Math.max(Math.floor(this.top / LANE), 0)
    for (let i = first; i < this.lanes.length && AXIS + i * LANE - this.top < this.height; i++) this.paintLane(i)
    this.paintAxis()
    if (this.dragged) {
      c.globalAlpha = 0.25
      c.fillStyle = colours.select
      c.fillRect(this.dragged[0], AXIS, this.dragged[1] - this.dragged[0], this.height)
      c.globalAlpha = 1
    }
  }

  paintLane(i) {
    const c = this.context
    const {colours} = this.flames
    const lane = this.lanes[i]
    const y = AXIS + i * LANE - this.top
    const {from, to, node, state} = lane
    let done = -1
    for (let s = this.first(lane, this.left); s < from.length && from[s] < this.right; s++) {
      const x = Math.max(this.x(from[s]), GUTTER)
      const end = Math.min(this.x(to[s]), this.width)
      if (end <= done && state[s] !== RUNNING) continue
      const w = Math.max(end - x, 0.8)
      c.globalAlpha = this.matched && !this.matched[node[s]] ? 0.2 : 1
      c.fillStyle = [colours.call, this.flames.colour(this.model.tree.frame[node[s]]), colours.ready][state[s]]
      if (state[s] === RUNNING) c.fillRect(x, y + 2, w, LANE - 5)
      else if (state[s] === READY) c.fillRect(x, y + 7, w, LANE - 15)
      else c.fillRect(x, y + LANE / 2 - 1, w, 4)
      done = x + w
    }
    c.globalAlpha = 1
    c.fillStyle = colours.back
    c.fillRect(0, y, GUTTER - 2, LANE)
    c.fillStyle = i === this.selected ? colours.match : colours.select
    c.fillText(this.label(lane), 8, y + LANE / 2, GUTTER - 14)
  }

  label({thread}) {
    const t = this.model.threads[thread]
    const id = ` ${t.tid || t.pid}`
    const room = 23 - id.length
    return (t.name.length > room ? t.name.slice(0, room - 1) + '…' : t.name) + id
  }

  paintAxis() {
    const c = this.context
    const {colours} = this.flames
    c.fillStyle = colours.back
    c.fillRect(0, 0, this.width, AXIS)
    const wide = (this.right - this.left) / Math.max((this.width - GUTTER) / 110, 1)
    const ten = 10 ** Math.floor(Math.log10(wide))
    const step = [1, 2, 5, 10].map(n => n * ten).find(s => s >= wide)
    c.fillStyle = colours.select
    for (let t = Math.ceil(this.left / step) * step; t <= this.right; t += step) {
      const x = this.x(t)
      c.globalAlpha = 0.12
      c.fillRect(x, 0, 1, this.height)
      c.globalAlpha = 0.75
      c.fillText(moment(t, step), x + 4, AXIS / 2)
    }
    c.globalAlpha = 1
  }

  // first returns the first span of a lane that ends after a time.
  first({to}, time) {
    let low = 0
    let high = to.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (to[middle] > time) high = middle
      else low = middle + 1
    }
    return low
  }

  // at returns the span under a point.
  at(x, y) {
    const i = Math.floor((y - AXIS + this.top) / LANE)
    const lane = y < AXIS || x < GUTTER ? undefined : this.lanes[i]
    if (!lane) return null
    const time = this.time(x)
    const s = this.first(lane, time)
    return s < lane.from.length && lane.from[s] <= time ? {lane, span: s} : null
  }

  // describe says what a span is, and its stack, innermost first.
  describe({lane, span}) {
    const {tree, labels, threads} = this.model
    const node = lane.node[span]
    const t = threads[lane.thread]
    const stack = []
    for (let n = node; n > 0 && stack.length < 14; n = tree.parent[n]) stack.push(labels[tree.frame[n]].slice(0, 120))
    const length = amount((lane.to[span] - lane.from[span]) * 1000, {time: true})
    const state = [`waiting in ${labels[tree.frame[node]].slice(0, 60)}`, 'running', 'ready, waits for a processor'][lane.state[span]]
    return {name: `${t.name} (tid ${t.tid})`, text: `${state}, ${length} from ${moment(lane.from[span], 1)}`, stack}
  }

  // span is the visible time as a text.
  span() { return [this.left, this.right].map(t => moment(t, (this.right - this.left) / 100)).join(' to ') }

  get part() { return this.left > 0 || this.right < this.end }

  // cells returns what each thread did in the visible time, as Model.within takes it.
  cells() {
    const cells = new Map()
    const field = [4, 2, 3] // by state
    for (const lane of this.lanes) {
      const {thread, from, to, node, state} = lane
      for (let s = this.first(lane, this.left); s < from.length && from[s] < this.right; s++) {
        const key = node[s] * this.model.threads.length + thread
        if (!cells.has(key)) cells.set(key, [node[s], thread, 0, 0, 0])
        cells.get(key)[field[state[s]]] += 1000 * (Math.min(to[s], this.right) - Math.max(from[s], this.left))
      }
    }
    return [...cells.values()]
  }

  // show makes a time the visible one.
  show(left, right) {
    const least = Math.min(100, this.end)
    if (right - left < least) right = left + least
    const width = Math.min(right - left, this.end)
    this.left = Math.min(Math.max(left, 0), this.end - width)
    this.right = this.left + width
    this.changed()
  }

  changed() {
    this.draw()
    this.onchange?.()
  }

  // zoom shows less, or more, around a time.
  zoom(factor, around = (this.left + this.right) / 2) {
    this.show(around - (around - this.left) * factor, around + (this.right - around) * factor)
  }

  move(right, up) {
    const by = (this.right - this.left) / 5 * right
    if (by) this.show(Math.max(this.left + by, 0), Math.max(this.left + by, 0) + this.right - this.left)
    this.selected = Math.min(Math.max(this.selected - up, 0), this.lanes.length - 1)
    const y = this.selected * LANE
    if (y < this.scroller.scrollTop) this.scroller.scrollTop = y
    else if (AXIS + y + LANE > this.scroller.scrollTop + this.height) this.scroller.scrollTop = AXIS + y + LANE - this.height
    this.draw()
  }

  // search marks the spans whose stacks have a function that matches.
  search(matches) {
    const {tree} = this.model
    this.matched = matches && new Uint8Array(tree.size)
    for (let n = 1; matches && n < tree.size; n++) this.matched[n] = matches[tree.frame[n]] | this.matched[tree.parent[n]]
    this.draw()
  }
}

// moment shows a time since the start, in microseconds, with the digits that a step needs.
function moment(time, step) {
  const digits = step >= 1e6 ? 0 : step >= 1e5 ? 1 : step >= 1e4 ? 2 : step >= 1e3 ? 3 : step >= 100 ? 4 : 6
  return `${(time / 1e6).toFixed(digits)} s`
}
