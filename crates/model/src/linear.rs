//! A batch as a mixed-integer linear program, Eqs. (4)-(8) line by line, so that any solver can be tried on it:
//! [`LinearProgram::to_mps`] (free MPS) and [`LinearProgram::to_lp`] (CPLEX LP).
//!
//! Columns, for request k (its index in the batch), node v and function j: `x_k_v` (placed on v), `z_k_v` (in a new
//! container), `defer_k`, `late_k`, and `one`, fixed at 1, which carries the constant of the objective. Rows: `place_k`
//! (5), `cores_v` (6), `memory_v` (7), `slo_k` (8), `new_k_v` (z <= x) and `idle_j_v`, the row that the paper implies:
//! of the requests of j on v, all but the idle containers need a new one.

use crate::ids::{FunctionId, NodeId};
use crate::latency;
use crate::placement::Container;
use crate::problem::{BatchProblem, Slo};
use std::collections::BTreeMap;
use std::fmt::Write;

/// min c x subject to rows, with every column binary or fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearProgram {
    /// The variables.
    pub columns: Vec<Column>,
    /// The constraints.
    pub rows: Vec<Row>,
}

/// A variable with its cost. Its bounds are 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// A name without spaces.
    pub name: String,
    /// Its coefficient in the objective, ms.
    pub cost: f64,
    /// Its lower bound: 1 only for the constant.
    pub lower: f64,
}

/// A linear constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// A name without spaces.
    pub name: String,
    /// (index of the column, coefficient).
    pub terms: Vec<(usize, f64)>,
    /// How both sides compare.
    pub sense: Sense,
    /// The right-hand side.
    pub rhs: f64,
}

/// How the sides of a [`Row`] compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Left side at most the right side.
    AtMost,
    /// Both equal.
    Equal,
}

impl LinearProgram {
    /// The program of a batch. Its optimum is the least [`evaluate`](crate::evaluate())`.objective` over all placements
    /// without violations; infeasible if there is none.
    pub fn of(problem: &BatchProblem<'_>) -> LinearProgram {
        let mut program = LinearProgram { columns: Vec::new(), rows: Vec::new() };
        let platform = problem.platform;
        let nodes: Vec<NodeId> = platform.node_ids().collect();
        let waited: f64 = problem.requests.iter().map(|request| (problem.now() - request.arrival).0).sum();
        program.column("one".into(), waited, 1.0);

        let mut cores = vec![Vec::new(); nodes.len()];
        let mut memory = vec![Vec::new(); nodes.len()];
        let mut idle: BTreeMap<(FunctionId, NodeId), Vec<(usize, f64)>> = BTreeMap::new();
        for (k, request) in problem.requests.iter().enumerate() {
            let function = platform.function(request.function);
            let mut place = Vec::new();
            let mut slo = Vec::new();
            let mut longest = 0.0_f64;
            for &v in &nodes {
                let warm =
                    latency::predict(platform, request, v, Container::Reuse, problem.now()).service().0;
                let cold = latency::predict(platform, request, v, Container::New, problem.now()).cold.0;
                let x = program.column(format!("x_{k}_{}", v.0), warm, 0.0);
                let z = program.column(format!("z_{k}_{}", v.0), cold, 0.0);
                program.row(format!("new_{k}_{}", v.0), vec![(z, 1.0), (x, -1.0)], Sense::AtMost, 0.0);
                place.push((x, 1.0));
                slo.extend([(x, warm), (z, cold)]);
                longest = longest.max(warm + cold);
                cores[v.index()].push((x, f64::from(function.cores.milli)));
                memory[v.index()].push((x, f64::from(function.memory.mb)));
                idle.entry((request.function, v)).or_default().extend([(x, 1.0), (z, -1.0)]);
            }
            // What is left of the SLO after the time that the request has waited.
            let slack = request.slo.0 - (problem.now() - request.arrival).0;
            match problem.objective.slo {
                Slo::Hard => program.row(format!("slo_{k}"), slo, Sense::AtMost, slack),
                Slo::Elastic { penalty_ms } => {
                    let defer = program.column(format!("defer_{k}"), problem.objective.defer_penalty.0, 0.0);
                    place.push((defer, 1.0));
                    // Late or not, a request that cannot be in time (slack < 0) pays, placed or deferred; the big-M
                    // is the least that allows every node.
                    if longest > slack {
                        let late = program.column(format!("late_{k}"), penalty_ms.0, 0.0);
                        slo.push((late, -(longest - slack)));
                        program.row(format!("slo_{k}"), slo, Sense::AtMost, slack);
                    }
                }
            }
            program.row(format!("place_{k}"), place, Sense::Equal, 1.0);
        }
        for &v in &nodes {
            let node = platform.node(v);
            let free_cores = node.cores.milli - problem.state.used_cores(v).milli;
            let free_memory = node.memory.mb - problem.state.used_memory(v).mb;
            let terms = std::mem::take(&mut cores[v.index()]);
            program.row(format!("cores_{}", v.0), terms, Sense::AtMost, f64::from(free_cores));
            let terms = std::mem::take(&mut memory[v.index()]);
            program.row(format!("memory_{}", v.0), terms, Sense::AtMost, f64::from(free_memory));
        }
        for ((j, v), terms) in idle {
            let count = f64::from(problem.state.idle(j, v));
            program.row(format!("idle_{}_{}", j.0, v.0), terms, Sense::AtMost, count);
        }
        program
    }

    fn column(&mut self, name: String, cost: f64, lower: f64) -> usize {
        self.columns.push(Column { name, cost, lower });
        self.columns.len() - 1
    }

    fn row(&mut self, name: String, terms: Vec<(usize, f64)>, sense: Sense, rhs: f64) {
        self.rows.push(Row { name, terms, sense, rhs });
    }

    /// Free-format MPS. Numbers are written so that they read back to the same bits.
    pub fn to_mps(&self) -> String {
        let mut by_column = vec![Vec::new(); self.columns.len()];
        for row in &self.rows {
            for &(column, value) in &row.terms {
                by_column[column].push((row.name.as_str(), value));
            }
        }
        let mut text = String::from("NAME scale\nROWS\n N objective\n");
        for row in &self.rows {
            let sense = match row.sense {
                Sense::AtMost => 'L',
                Sense::Equal => 'E',
            };
            line(&mut text, format_args!(" {sense} {}", row.name));
        }
        text.push_str("COLUMNS\n MARKER 'MARKER' 'INTORG'\n");
        for (column, entries) in self.columns.iter().zip(by_column) {
            line(&mut text, format_args!(" {} objective {}", column.name, column.cost));
            for (row, value) in entries {
                line(&mut text, format_args!(" {} {row} {value}", column.name));
            }
        }
        text.push_str(" MARKER 'MARKER' 'INTEND'\nRHS\n");
        for row in self.rows.iter().filter(|row| row.rhs != 0.0) {
            line(&mut text, format_args!(" rhs {} {}", row.name, row.rhs));
        }
        text.push_str("BOUNDS\n");
        for column in &self.columns {
            if column.lower == 1.0 {
                line(&mut text, format_args!(" FX bnd {} 1", column.name));
            } else {
                line(&mut text, format_args!(" UP bnd {} 1", column.name));
            }
        }
        text.push_str("ENDATA\n");
        text
    }

    /// CPLEX LP format. Numbers are written so that they read back to the same bits.
    pub fn to_lp(&self) -> String {
        let mut text = String::from("Minimize\n objective:");
        for column in &self.columns {
            term(&mut text, column.cost, &column.name);
        }
        text.push_str("\nSubject To\n");
        for row in &self.rows {
            text.push(' ');
            text.push_str(&row.name);
            text.push(':');
            for &(column, value) in &row.terms {
                term(&mut text, value, &self.columns[column].name);
            }
            let sense = match row.sense {
                Sense::AtMost => "<=",
                Sense::Equal => "=",
            };
            line(&mut text, format_args!(" {sense} {}", row.rhs));
        }
        text.push_str("Bounds\n");
        for column in self.columns.iter().filter(|column| column.lower == 1.0) {
            line(&mut text, format_args!(" {} = 1", column.name));
        }
        text.push_str("Binaries\n");
        for column in self.columns.iter().filter(|column| column.lower == 0.0) {
            line(&mut text, format_args!(" {}", column.name));
        }
        text.push_str("End\n");
        text
    }
}

/// Writes one line. Writing to a `String` cannot fail.
fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(content);
    text.push('\n');
}

/// Writes ` + 3 x` or ` - 3 x`, broken into lines because readers limit their length.
fn term(text: &mut String, value: f64, name: &str) {
    let since_break = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
    if since_break > 200 {
        text.push_str("\n ");
    }
    let sign = if value.is_sign_negative() { '-' } else { '+' };
    let _ = write!(text, " {sign} {} {name}", value.abs());
}
