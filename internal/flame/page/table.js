// table.js: the list of functions. It holds only the lines that are in the window.

const LINE = 24 // pixels of a line

class Table {
  constructor(scroller, head, model, choose) {
    this.scroller = scroller
    this.model = model
    this.choose = choose
    this.space = scroller.firstElementChild
    this.order = 'self'
    this.rows = []
    this.buttons = [...head.querySelectorAll('button')]
    for (const b of this.buttons) b.addEventListener('click', () => { this.order = b.dataset.order; this.sort() })
    scroller.addEventListener('scroll', () => this.fill())
    this.space.addEventListener('click', e => {
      const line = e.target.closest('.line')
      if (line) this.choose(+line.dataset.row)
    })
  }

  // show takes rows of Model.table, what a share is of, and which rows match.
  show(rows, whole, value, matches) {
    this.all = rows
    this.whole = whole
    this.value = value
    this.matches = matches
    this.sort()
  }

  sort() {
    const {model, order} = this
    const name = row => model.rowNames[row]
    const byName = (a, b) => name(a.row) < name(b.row) ? -1 : name(a.row) > name(b.row) ? 1 : a.row - b.row
    const by = {
      self: (a, b) => b.self - a.self || b.total - a.total || byName(a, b),
      total: (a, b) => b.total - a.total || b.self - a.self || byName(a, b),
      name: byName,
    }
    this.rows = this.all.filter(r => !this.matches || this.matches[model.rowFrames[r.row]] === 1).sort(by[order])
    for (const b of this.buttons) b.setAttribute('aria-pressed', String(b.dataset.order === order))
    this.space.style.height = `${this.rows.length * LINE}px`
    this.scroller.scrollTop = 0
    this.fill()
  }

  fill() {
    const first = Math.max(Math.floor(this.scroller.scrollTop / LINE) - 5, 0)
    const last = Math.min(first + Math.ceil(this.scroller.clientHeight / LINE) + 10, this.rows.length)
    const lines = []
    for (let i = first; i < last; i++) lines.push(this.line(this.rows[i], i))
    this.space.replaceChildren(...lines)
  }

  line({row, self, total}, i) {
    const line = document.createElement('div')
    line.className = 'line'
    line.dataset.row = row
    line.style.top = `${i * LINE}px`
    for (const n of [self, total]) {
      const cell = document.createElement('span')
      cell.className = 'number'
      cell.textContent = share(n, this.whole)
      cell.title = amount(n, this.value)
      line.append(cell)
    }
    const bar = document.createElement('span')
    bar.className = 'bar'
    bar.style.width = `${this.whole > 0 ? 100 * self / this.whole : 0}%`
    const name = document.createElement('span')
    name.className = 'name'
    name.textContent = this.model.rowNames[row].slice(0, 500)
    line.append(name, bar)
    return line
  }
}
