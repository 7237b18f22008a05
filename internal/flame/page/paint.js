// paint.js: draws trees of functions on a canvas. Only what is in the window is drawn, so the cost is that of the
// pixels, not of the profile.

const ROW = 19 // pixels of a level
const FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace'

// A layer is a tree as it lies on the canvas: its root in row base, what is below it in rows that go up (sign -1) or
// down (sign 1).
class Flames {
  constructor(canvas, scroller, model) {
    this.canvas = canvas
    this.scroller = scroller
    this.context = canvas.getContext('2d', {alpha: false})
    this.layers = []
    this.zoom = null // {layer, node}
    this.selected = null
    this.hovered = null
    this.matches = null // by frame, of a search
    this.wanted = false
    this.load(model)
  }

  load(model) {
    this.model = model
    homes(model)
    this.theme()
  }

  // theme takes over the colours of the page.
  theme() {
    const style = getComputedStyle(document.documentElement)
    const get = name => style.getPropertyValue(name).trim()
    this.colours = {
      back: get('--back'), text: get('--box-text'), line: get('--back'), match: get('--match'), matchText: get('--match-text'),
      select: get('--text'), group: get('--group'), call: get('--call'), ready: get('--ready'), unknown: get('--unknown'), kernel: get('--kernel'),
      light: +get('--box-light'), full: +get('--box-full'),
    }
    this.frameColours = []
    this.draw()
  }

  show(layers, zoom = null) {
    this.layers = layers
    this.zoom = zoom
    this.selected = this.hovered = null
    this.rows = Math.max(...layers.map(l => l.tree.maxDepth)) + 1
    if (layers.length > 1) this.rows = layers[0].tree.maxDepth + layers[1].tree.maxDepth + 1
    this.resize()
  }

  resize() {
    const {clientWidth: width, clientHeight: height} = this.scroller
    const ratio = window.devicePixelRatio || 1
    this.width = width
    this.height = height
    this.canvas.width = Math.round(width * ratio)
    this.canvas.height = Math.round(height * ratio)
    this.canvas.style.width = `${width}px`
    this.canvas.style.height = `${height}px`
    this.ratio = ratio
    // The canvas stays where it is; what is scrolled is an empty box of the whole height.
    this.scroller.firstElementChild.style.height = `${Math.max(this.rows * ROW, height)}px`
    this.draw()
  }

  // offset is what is added to row*ROW: a small tree that grows up stands on the floor.
  offset() {
    const room = this.height - this.rows * ROW
    return room > 0 && this.layers[0]?.sign < 0 && this.layers.length === 1 ? room : 0
  }

  // draw has the next frame drawn.
  draw() {
    if (this.wanted) return
    this.wanted = true
    requestAnimationFrame(() => {
      this.wanted = false
      this.paint()
    })
  }

  paint() {
    const c = this.context
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0)
    c.fillStyle = this.colours.back
    c.fillRect(0, 0, this.width, this.height)
    c.font = FONT
    c.textBaseline = 'middle'
    this.letter = c.measureText('m').width
    this.top = this.scroller.scrollTop - this.offset()
    for (const layer of this.layers) this.paintLayer(layer)
    if (!this.drawn && this.layers.length > 0) {
      this.drawn = true
      performance.mark('drawn')
    }
  }

  // root is the node that takes the whole width.
  root(layer) { return this.zoom && this.zoom.layer === layer ? this.zoom.node : 0 }

  y(layer, depth) { return (layer.base + layer.sign * depth) * ROW - this.top }

  paintLayer(layer) {
    const {tree} = layer
    const root = this.root(layer)
    for (let n = tree.parent[root]; n >= 0; n = tree.parent[n]) this.box(layer, n, 0, this.width, true)
    const left = tree.start[root]
    const scale = tree.total[root] > 0 ? this.width / tree.total[root] : 0
    const done = new Int32Array(tree.maxDepth + 1).fill(-1) // the last column that is painted, of each level
    const below = layer.sign > 0 ? y => y > this.height : y => y < -ROW
    for (let n = root; n < tree.end[root];) {
      const x = (tree.start[n] - left) * scale
      const w = tree.total[n] * scale
      const depth = tree.depth[n]
      if (w < 1) {
        const column = Math.floor(x)
        if (w > 0 && column > done[depth]) {
          done[depth] = column
          this.sliver(layer, n, column)
        }
        n = tree.end[n]
        continue
      }
      const y = this.y(layer, depth)
      if (below(y)) {
        n = tree.end[n]
        continue
      }
      if (y > -ROW && y < this.height) {
        this.box(layer, n, x, w, false)
        done[depth] = Math.floor(x + w) - 1
      }
      n++
    }
  }

  sliver(layer, n, column) {
    const y = this.y(layer, layer.tree.depth[n])
    if (y <= -ROW || y >= this.height) return
    this.context.fillStyle = this.boxColour(layer.tree, n)
    this.context.fillRect(column, y, 1, ROW - 1)
  }

  box(layer, n, x, w, above) {
    const c = this.context
    const frame = layer.tree.frame[n]
    const y = this.y(layer, layer.tree.depth[n])
    if (y <= -ROW || y >= this.height) return
    const matched = this.matches !== null && frame >= 0 && this.matches[frame] === 1
    c.globalAlpha = above ? 0.55 : this.matches !== null && !matched ? 0.4 : 1
    c.fillStyle = matched ? this.colours.match : this.boxColour(layer.tree, n)
    c.fillRect(x, y, Math.max(w - (w > 3 ? 1 : 0), 0.5), ROW - 1)
    const at = a => a && a.layer === layer && a.node === n
    if (at(this.selected) || at(this.hovered)) {
      c.globalAlpha = 1
      c.strokeStyle = this.colours.select
      c.lineWidth = at(this.selected) ? 2 : 1
      c.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), ROW - 3)
    }
    if (w > 3 * this.letter) {
      c.fillStyle = matched ? this.colours.matchText : this.colours.text
      c.fillText(this.fit(frame, w - 8), x + 4, y + ROW / 2, w - 6)
    }
    c.globalAlpha = 1
  }

  name(frame) { return frame < 0 ? 'all' : this.model.labels[frame] }

  // fit cuts a name to what has room. The font is one of equal widths. In Go the package goes first: its colour
  // shows it.
  fit(frame, width) {
    const room = Math.floor(width / this.letter)
    let name = this.name(frame)
    const home = this.model.homes[frame]
    if (name.length > room && home && name.startsWith(home + '.')) name = name.slice(home.length + 1)
    if (name.length > room && room < 12) name = name.replace(/^\(\*?\w+\)\./, '')
    return name.length <= room ? name : room < 3 ? name.slice(0, room) : name.slice(0, room - 1) + '…'
  }

  // boxColour is that of the function, or says how its share has changed.
  boxColour(tree, n) {
    if (!this.model.compared || n === 0) return this.colour(tree.frame[n])
    const now = tree.total[n]
    const before = this.model.before(tree, n)
    return this.shiftColour(now > 0 || before > 0 ? (now - before) / Math.max(now, before) : 0)
  }

  // shiftColour is red for what has grown and blue for what has shrunk.
  shiftColour(change) {
    const part = Math.abs(change)
    const light = this.colours.light
    return `hsl(${change < 0 ? 214 : 4} ${Math.round(80 * part)}% ${Math.round(light + 8 - 18 * part)}%)`
  }

  // colour is the kind's, or one of the function's home; functions of one home differ a little.
  colour(frame) {
    if (frame < 0) return this.colours.group
    let colour = this.frameColours[frame]
    if (colour) return colour
    const {kinds, names} = this.model
    const {light, full} = this.colours
    const shade = hash(names[frame]) % 9 - 4
    const hue = this.model.hues.get(this.model.homes[frame]) ?? HUES[0]
    switch (kinds[frame]) {
      case KIND.group: colour = this.colours.group; break
      case KIND.call: colour = this.colours.call; break
      case KIND.kernel: colour = this.colours.kernel; break
      case KIND.unknown: colour = this.colours.unknown; break
      default: colour = `hsl(${hue + shade} ${full}% ${light + shade}%)`
    }
    return this.frameColours[frame] = colour
  }

  // at returns what is under a point of the canvas.
  at(px, py) {
    for (const layer of this.layers) {
      const depth = Math.floor((py + this.top) / ROW - layer.base) * layer.sign
      const {tree} = layer
      if (depth < 0 || depth > tree.maxDepth) continue
      const root = this.root(layer)
      if (depth < tree.depth[root]) {
        let n = root
        while (tree.depth[n] > depth) n = tree.parent[n]
        return {layer, node: n}
      }
      const where = tree.start[root] + px / this.width * tree.total[root]
      for (let n = root; n < tree.end[root];) {
        if (where < tree.start[n] || where >= tree.start[n] + tree.total[n]) n = tree.end[n]
        else if (tree.depth[n] === depth) return {layer, node: n}
        else n++
      }
    }
    return null
  }

  // path names what leads to a node, for follow in another model.
  path(at) {
    if (!at) return null
    const {tree} = at.layer
    const keys = []
    for (let n = at.node; n > 0; n = tree.parent[n]) keys.unshift(this.model.key(tree.frame[n]))
    return {layer: this.layers.indexOf(at.layer), keys}
  }

  // follow returns what a path leads to, as far as it goes.
  follow(path) {
    const layer = path && this.layers[path.layer]
    if (!layer) return null
    const {tree} = layer
    let node = 0
    for (const key of path.keys) {
      let child = node + 1
      while (child < tree.end[node] && this.model.key(tree.frame[child]) !== key) child = tree.end[child]
      if (child >= tree.end[node]) break
      node = child
    }
    return node > 0 || path.keys.length === 0 ? {layer, node} : null
  }

  // centre scrolls so that a node is in the middle of the window, with what is above and below it.
  centre({layer, node}) {
    const y = (layer.base + layer.sign * layer.tree.depth[node]) * ROW + this.offset()
    this.scroller.scrollTop = Math.max(y - this.height / 2, 0)
    this.draw()
  }

  // reveal scrolls so that a node is in the window.
  reveal({layer, node}) {
    const y = (layer.base + layer.sign * layer.tree.depth[node]) * ROW + this.offset()
    const {scroller} = this
    if (y < scroller.scrollTop) scroller.scrollTop = y - ROW
    else if (y + 2 * ROW > scroller.scrollTop + this.height) scroller.scrollTop = y + 2 * ROW - this.height
    this.draw()
  }
}

// Hues of the homes. A home has the hue that its name chooses, in every profile; only where one with more of the profile has
// it already the next one that is free.
const HUES = [22, 205, 130, 275, 48, 300, 172, 240, 92, 65, 190, 320]

// homes sorts functions by where they are at home: the file that holds their code, in Go programs the package.
function homes(model) {
  if (model.hues) return
  const goFiles = new Set(model.objects.filter((_, i) => model.names[i].startsWith('runtime.')))
  model.homes = model.names.map((name, i) => {
    const object = model.objects[i]
    if (!goFiles.has(object)) return base(object)
    const end = name.indexOf('.', name.split(/[([]/, 1)[0].lastIndexOf('/') + 1)
    return end > 0 ? name.slice(0, end) : base(object)
  })
  const ofFrame = new Float64Array(model.names.length)
  const {tree} = model
  tree.self.slice(0, model.values.length).forEach((self, v) => {
    if (model.values[v].time) for (let n = 1; n < tree.size; n++) ofFrame[tree.frame[n]] += self[n]
  })
  const sums = new Map()
  model.homes.forEach((home, f) => {
    if (model.kinds[f] === KIND.code) sums.set(home, (sums.get(home) || 0) + ofFrame[f])
  })
  model.order = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a))
  model.hues = hues(model.order)
  model.widest = widest(model)
}

function hues(order) {
  const taken = new Set()
  return new Map(order.map(home => {
    if (taken.size === HUES.length) taken.clear()
    let i = hash(home) % HUES.length
    while (taken.has(i)) i = (i + 1) % HUES.length
    taken.add(i)
    return [home, HUES[i]]
  }))
}

// widest sorts the homes by their widest box.
function widest(model) {
  const {tree} = model
  const totals = tree.totals(model.values.length > 0 ? model.initial : 0)
  const width = new Map(model.order.map(home => [home, 0]))
  for (let n = 1; n < tree.size; n++) {
    const f = tree.frame[n]
    if (model.kinds[f] === KIND.code && totals[n] > width.get(model.homes[f])) width.set(model.homes[f], totals[n])
  }
  return [...model.order].sort((a, b) => width.get(b) - width.get(a))
}

function hash(text) {
  let h = 0
  for (let i = 0; i < Math.min(text.length, 64); i++) h = (h * 31 + text.charCodeAt(i)) >>> 0
  return h
}
