// page.js: what the user chooses, and the keys.

const $ = id => document.getElementById(id)

const KEYS = [
  ['f i s t', 'flame graph, icicle, sandwich, timeline'],
  ['1 2 3', 'value'],
  ['← ↑ ↓ →', 'move the selection'],
  ['Enter', 'zoom to the selection'],
  ['Backspace', 'zoom out by a level'],
  ['Escape', 'whole profile; ends a search first'],
  ['/', 'search; text, or /a regular expression/'],
  ['Space', 'sandwich of the selection'],
  ['g', 'next way to tell threads apart'],
  ['+ −', 'timeline: less or more time; also dragging, and the wheel with Shift. All views show the visible time'],
  ['d', 'dark or light'],
  ['p', 'while sampling goes on: keep what is shown, and go on'],
]

const GROUPS = {none: 'together', process: 'by process', name: 'by name', thread: 'apart'}

class Page {
  constructor(model, timeline) {
    this.model = this.all = model // what is shown, and the whole profile
    this.view = 'flame'
    this.group = 'none'
    this.function = -1
    this.matches = null
    this.flames = new Flames($('canvas'), $('flames'), model)
    this.setTimeline(timeline)
    this.table = new Table($('rows'), $('head'), model, row => this.choose(row))
    this.value = model.values.length > 0 ? model.initial : 0
    this.state = new State(this)
  }

  begin() {
    this.head()
    this.listen()
    this.setTheme(matchMedia('(prefers-color-scheme: dark)').matches)
    this.state.show()
  }

  // head says what the model is of, and offers what it has.
  head() {
    const {model} = this
    $('values').replaceChildren(...model.values.map((v, i) => {
      const button = document.createElement('button')
      button.textContent = v.name
      button.title = String(i + 1)
      button.addEventListener('click', () => this.setValue(i))
      return button
    }))
    $('title').textContent = model.title.slice(0, 2000)
    $('about').textContent = model.about.join(' · ')
    $('groups').replaceChildren(...Object.entries(GROUPS).filter(([key]) => key !== 'process' || model.processes > 1).map(([key, text]) => {
      const option = document.createElement('option')
      option.value = key
      option.textContent = text
      return option
    }))
    $('groups').parentElement.hidden = model.threads.length < 2
    $('views').lastElementChild.hidden = !this.timeline
  }

  setTimeline(data) {
    if (!data) return
    if (this.timeline) return this.timeline.load(this.all, data)
    this.timeline = new Timeline($('times'), $('lanes'), this.flames, this.all, data)
    this.timeline.onchange = () => { // when dragging and turning the wheel pause
      clearTimeout(this.later)
      this.later = setTimeout(() => this.within(), 50)
    }
    this.listenTimes($('times'))
  }

  // load takes over a later state of the profile.
  load(model, timeline) {
    this.all = model
    this.setTimeline(timeline)
    this.within()
  }

  // within shows what was done in the visible time of the timeline.
  within() {
    const {all, timeline} = this
    const model = timeline?.part ? all.within(timeline.cells()) : all
    if (model === this.model) return
    const name = this.model.values[this.value]?.name
    const value = model.values.findIndex(v => v.name === name)
    this.value = value < 0 ? model.initial : value
    this.change(model)
    $('during').hidden = !timeline?.part
    if (timeline?.part) $('during').textContent = `${timeline.span()} ✕`
  }

  // change shows another model of the same profile. What the user has chosen stays: functions and stacks are found again by their names.
  change(model) {
    const {flames, table} = this
    const old = this.model
    const zoom = flames.path(flames.zoom)
    const selected = flames.path(flames.selected)
    const scrolled = [$('flames'), $('rows'), $('lanes')].map(e => [e, e.scrollTop])
    const chosen = this.function >= 0 ? old.key(this.function) : ''
    this.model = table.model = model
    flames.load(model)
    this.function = chosen ? model.find(chosen) : -1
    this.head()
    if (this.matches) this.search($('search').value)
    this.refresh()
    flames.zoom = flames.follow(zoom)
    flames.selected = flames.follow(selected)
    if (flames.zoom) this.zoomed()
    for (const [e, top] of scrolled) e.scrollTop = top
    flames.draw()
  }

  listen() {
    for (const b of $('views').children) b.addEventListener('click', () => this.setView(b.dataset.view))
    $('groups').addEventListener('change', () => this.setGroup($('groups').value))
    $('search').addEventListener('input', () => this.search($('search').value))
    $('reset').addEventListener('click', () => this.unzoom())
    $('theme').addEventListener('click', () => this.setTheme(!this.dark))
    $('during').addEventListener('click', () => this.timeline.reset())
    $('help').addEventListener('click', () => this.help())
    $('keys').addEventListener('click', () => $('keys').close())
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', e => this.setTheme(e.matches))
    const {flames} = this
    new ResizeObserver(() => { flames.resize(); this.table.fill() }).observe($('flames'))
    $('flames').addEventListener('scroll', () => { this.tip(null); flames.draw() })
    const canvas = $('canvas')
    const under = e => flames.at(e.offsetX, e.offsetY)
    canvas.addEventListener('click', e => {
      const at = under(e)
      if (at) this.zoomTo(at)
    })
    canvas.addEventListener('mousemove', e => this.hover(under(e), e))
    canvas.addEventListener('mouseleave', () => this.hover(null))
    document.addEventListener('keydown', e => this.key(e))
  }

  listenTimes(canvas) {
    const {timeline} = this
    new ResizeObserver(() => timeline.resize()).observe($('lanes'))
    $('lanes').addEventListener('scroll', () => { this.tip(null); timeline.draw() })
    canvas.addEventListener('wheel', e => {
      if (!e.ctrlKey && !e.shiftKey) return
      e.preventDefault()
      timeline.zoom(e.deltaY + e.deltaX > 0 ? 1.25 : 0.8, timeline.time(e.offsetX))
    }, {passive: false})
    canvas.addEventListener('pointerdown', e => { this.from = e.offsetX })
    canvas.addEventListener('pointermove', e => {
      timeline.dragged = e.buttons === 1 && this.from !== undefined ? [Math.min(this.from, e.offsetX), Math.max(this.from, e.offsetX)] : null
      if (e.buttons === 1) timeline.draw()
      const at = timeline.at(e.offsetX, e.offsetY)
      const what = at && timeline.describe(at)
      this.showTip(what && [['b', what.name], ['div', what.text], ...what.stack.map(name => ['span', name])], e)
      $('status').textContent = what ? `${what.text}  ${what.name}` : ''
    })
    canvas.addEventListener('pointerup', () => {
      if (timeline.dragged && timeline.dragged[1] - timeline.dragged[0] > 4) timeline.show(...timeline.dragged.map(x => timeline.time(x)))
      timeline.dragged = null
      timeline.draw()
    })
    canvas.addEventListener('mouseleave', () => this.tip(null))
  }

  get whole() { return this.model.tree.totals(this.value)[0] }

  // refresh makes the layers of the view anew.
  refresh() {
    const {model, value, view} = this
    for (const b of $('views').children) b.setAttribute('aria-pressed', String(b.dataset.view === view))
    ;[...$('values').children].forEach((b, i) => b.setAttribute('aria-pressed', String(i === value)))
    $('groups').value = this.group
    $('groups').disabled = view === 'sandwich' || view === 'timeline'
    $('flames').hidden = view === 'timeline'
    $('lanes').hidden = view !== 'timeline'
    let layers
    if (view === 'sandwich') {
      if (this.function < 0) this.function = this.hottest()
      const callers = model.callers(this.function)
      layers = [
        {tree: callers, base: callers.maxDepth, sign: -1},
        {tree: model.callees(this.function), base: callers.maxDepth, sign: 1},
      ]
    } else {
      const tree = model.apart(this.group, value)
      layers = [view === 'flame' ? {tree, base: tree.maxDepth, sign: -1} : {tree, base: 0, sign: 1}]
    }
    for (const layer of layers) layer.tree.place(value)
    this.flames.show(layers)
    $('flames').scrollTop = view === 'flame' ? 1e9 : 0
    if (view === 'sandwich') {
      this.flames.selected = {layer: layers[1], node: 0}
      this.flames.centre(this.flames.selected)
    }
    this.fillTable()
    this.count()
    this.legend()
    this.tell(null)
    $('reset').disabled = view !== 'timeline'
    this.state.write()
  }

  hottest() {
    const rows = this.model.table(this.model.tree, 0, this.value)
    const best = rows.reduce((a, b) => b.self > a.self ? b : a, {row: 0, self: -1})
    return this.model.rowFrames[best.row] ?? 0
  }

  // fillTable lists the functions of what is zoomed to.
  fillTable() {
    const {zoom, layers} = this.flames
    const of = this.view !== 'sandwich' && zoom ? zoom : {layer: layers[0], node: 0}
    const tree = this.view === 'sandwich' ? this.model.tree : of.layer.tree
    this.table.show(this.model.table(tree, this.view === 'sandwich' ? 0 : of.node, this.value), this.whole, this.model.values[this.value], this.matches)
  }

  setView(view) {
    if (view === this.view) return
    this.view = view
    this.refresh()
  }

  setValue(value) {
    if (value >= this.model.values.length || value === this.value) return
    this.value = value
    this.refresh()
  }

  setGroup(group) {
    this.group = group
    this.refresh()
  }

  setTheme(dark) {
    this.dark = dark
    document.documentElement.dataset.theme = dark ? 'dark' : 'light'
    this.flames.theme()
    this.timeline?.draw()
    this.legend()
  }

  // choose shows the callers and callees of a row of the table.
  choose(row) {
    this.function = this.model.rowFrames[row]
    this.view = 'sandwich'
    this.refresh()
  }

  zoomTo(at) {
    const {flames} = this
    flames.zoom = at && at.node > 0 ? at : null
    flames.selected = at
    if (at) flames.reveal(at)
    flames.draw()
    this.zoomed()
    this.tell(at)
  }

  // zoomed shows beside the picture what it is zoomed to.
  zoomed() {
    $('reset').disabled = !this.flames.zoom && this.view !== 'timeline'
    this.fillTable()
    this.state.write()
  }

  // unzoom shows the whole profile.
  unzoom() {
    if (this.view === 'timeline') this.timeline.reset()
    else this.zoomTo(null)
  }

  hover(at, event) {
    const {flames} = this
    if (at?.node !== flames.hovered?.node || at?.layer !== flames.hovered?.layer) {
      flames.hovered = at
      flames.draw()
    }
    this.tip(at, event)
    this.tell(at || flames.selected)
  }

  describe({layer, node}) {
    const {model, value} = this
    const {tree} = layer
    const unit = model.values[value]
    const total = tree.total[node]
    const own = tree.self[value][node]
    const name = this.flames.name(tree.frame[node])
    const was = model.compared ? `, was ${share(model.before(tree, node), this.whole)}` : ''
    const text = `${share(total, this.whole)}${was}, ${amount(total, unit)}; itself ${share(own, this.whole)}`
    return {name, text, object: model.objects[tree.frame[node]] || ''}
  }

  tell(at) {
    if (!at) {
      $('status').textContent = ''
      return
    }
    const {name, text} = this.describe(at)
    $('status').textContent = `${text}  ${name.slice(0, 1000)}`
  }

  tip(at, event) {
    if (!at) return this.showTip(null)
    const {name, text, object} = this.describe(at)
    this.showTip([['b', name.slice(0, 2000)], ['div', text], ['span', object.slice(0, 1000)]], event)
  }

  showTip(lines, event) {
    const tip = $('tip')
    tip.hidden = !lines
    if (!lines) return
    tip.replaceChildren(...lines.map(([tag, content]) => {
      const e = document.createElement(tag)
      e.textContent = content
      return e
    }))
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)
    const y = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18
    tip.style.left = `${Math.max(x, 4)}px`
    tip.style.top = `${Math.max(y, 4)}px`
  }

  // search marks functions whose names have a text in them, or match a regular expression.
  search(text) {
    let test = null
    const expression = /^\/(.+)\/$/.exec(text)
    $('search').setCustomValidity('')
    if (expression) {
      try {
        const re = new RegExp(expression[1])
        test = name => re.test(name)
      } catch (err) {
        $('search').setCustomValidity(err.message)
        $('matched').textContent = 'not an expression'
        return
      }
    } else if (text) {
      const small = text.toLowerCase()
      test = name => name.toLowerCase().includes(small)
    }
    this.matches = test && Uint8Array.from(this.model.labels, name => test(name) ? 1 : 0)
    this.flames.matches = this.matches
    this.flames.draw()
    this.timeline?.search(this.matches)
    this.fillTable()
    this.count()
    this.state.write()
  }

  // count says what share of the profile is in stacks that match.
  count() {
    const {matches, flames, value} = this
    if (!matches) {
      $('matched').textContent = ''
      return
    }
    const tree = this.view === 'sandwich' ? this.model.tree : flames.layers[0].tree
    let sum = 0
    for (let n = 1; n < tree.size;) {
      if (matches[tree.frame[n]] === 1) {
        sum += tree.totals(value)[n]
        n = tree.end[n]
      } else n++
    }
    $('matched').textContent = share(sum, this.whole)
  }

  // legend names the homes of the widest boxes, and the kinds that have a colour of their own.
  legend() {
    const {model, flames} = this
    const of = model.widest.slice(0, 6).map(home => [home || 'no file', model.homes.findIndex((h, i) => h === home && model.kinds[i] === KIND.code)])
    for (const [name, kind] of [['kernel', KIND.kernel], ['system call', KIND.call], ['without a name', KIND.unknown]]) of.push([name, model.kinds.indexOf(kind)])
    const shown = of.filter(([, frame]) => frame >= 0).map(([name, frame]) => [name, flames.colour(frame)])
    const changes = [['share has grown', 1], ['as before', 0], ['has shrunk', -1]].map(([name, by]) => [name, flames.shiftColour(by)])
    $('legend').replaceChildren(...(model.compared ? changes : shown).map(([name, colour]) => {
      const swatch = document.createElement('span')
      swatch.className = 'swatch'
      swatch.style.background = colour
      const item = document.createElement('span')
      item.append(swatch, name.slice(0, 24))
      return item
    }))
  }

  help() {
    const list = document.createElement('dl')
    for (const [key, text] of KEYS) {
      for (const [tag, content] of [['dt', key], ['dd', text]]) {
        const e = document.createElement(tag)
        e.textContent = content
        list.append(e)
      }
    }
    $('keys').replaceChildren(list)
    $('keys').showModal()
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || $('keys').open) return
    if (e.target === $('search')) {
      if (e.key === 'Escape') {
        $('search').value = ''
        this.search('')
      }
      if (e.key === 'Escape' || e.key === 'Enter') $(this.view === 'timeline' ? 'lanes' : 'flames').focus()
      return
    }
    if (e.target.tagName === 'SELECT') return
    if (['Enter', ' '].includes(e.key) && e.target.tagName === 'BUTTON') return
    const act = this.action(e.key)
    if (!act) return
    e.preventDefault()
    act()
    this.tip(null) // of a box that may be elsewhere now
  }

  // action returns what a key does.
  action(key) {
    const {flames} = this
    const views = {f: 'flame', i: 'icicle', s: 'sandwich', t: 'timeline'}
    const button = [...$('views').children].find(b => b.dataset.view === views[key] && !b.hidden)
    if (button) return () => this.setView(views[key])
    if (/^[1-9]$/.test(key)) return () => this.setValue(+key - 1)
    const moves = {ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]}
    if (moves[key]) return () => this.view === 'timeline' ? this.timeline.move(...moves[key]) : this.move(...moves[key])
    if (this.view === 'timeline' && (key === '+' || key === '-')) return () => this.timeline.zoom(key === '+' ? 0.7 : 1.4)
    switch (key) {
      case '/': return () => { $('search').focus(); $('search').select() }
      case '?': return () => this.help()
      case 'd': return () => this.setTheme(!this.dark)
      case 'p': return this.live && (() => this.live.toggle())
      case 'g': return () => this.nextGroup()
      case 'Enter': return () => flames.selected && this.zoomTo(flames.selected)
      case ' ': return () => this.sandwichOf(flames.selected)
      case 'Backspace': return () => this.zoomOut()
      case 'Escape': return () => {
        if (!this.matches) return this.unzoom()
        $('search').value = ''
        this.search('')
      }
    }
    return null
  }

  nextGroup() {
    if (this.view === 'sandwich') return
    const options = [...$('groups').options].map(o => o.value)
    this.setGroup(options[(options.indexOf(this.group) + 1) % options.length])
  }

  sandwichOf(at) {
    const frame = at ? at.layer.tree.frame[at.node] : -1
    if (frame < 0 || this.model.kinds[frame] === KIND.group) return
    this.function = frame
    this.view = 'sandwich'
    this.refresh()
  }

  zoomOut() {
    const {zoom} = this.flames
    if (zoom) this.zoomTo({layer: zoom.layer, node: zoom.layer.tree.parent[zoom.node]})
  }

  // move selects the neighbour in a direction of the picture.
  move(right, up) {
    const {flames} = this
    let {selected} = flames
    if (!selected) selected = flames.zoom || {layer: flames.layers[flames.layers.length - 1], node: 0}
    else {
      const {layer, node} = selected
      const next = up ? this.level(layer, node, up === -layer.sign) : this.sibling(layer, node, right)
      if (next) selected = next
    }
    flames.selected = selected
    flames.reveal(selected)
    this.tell(selected)
  }

  // level returns the largest callee of a node, or its caller.
  level(layer, node, deeper) {
    const {tree} = layer
    if (!deeper) {
      if (node > 0) return {layer, node: tree.parent[node]}
      const other = this.flames.layers.find(l => l !== layer)
      return other ? this.level(other, 0, true) : null
    }
    let best = -1
    for (let n = node + 1; n < tree.end[node]; n = tree.end[n]) if (best < 0 || tree.total[n] > tree.total[best]) best = n
    return best < 0 || tree.total[best] === 0 ? null : {layer, node: best}
  }

  // sibling returns the next node of the same caller that counts anything.
  sibling(layer, node, right) {
    const {tree} = layer
    if (node === 0) return null
    const p = tree.parent[node]
    let last = null
    for (let n = p + 1; n < tree.end[p]; n = tree.end[n]) {
      if (tree.total[n] === 0) continue
      if (right > 0 ? n > node : n === node) return right > 0 ? {layer, node: n} : last
      last = {layer, node: n}
    }
    return null
  }
}

const data = JSON.parse($('data').textContent)
const page = new Page(new Model(data), data.timeline)
page.begin()
if (data.live) page.live = new Live(page, data.live)
