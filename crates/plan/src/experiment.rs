//! An experiment: one plan as a template over rows and variants, with the figures it is to give.

use crate::diagnostic::{Diagnostic, Diagnostics, Problem, Problems};
use crate::document::Document;
use crate::figure::{self, Figure};
use crate::model::Plan;
use crate::overlay::{self, Address};
use crate::reader::{self, Section, Taken};
use crate::rows::{self, Row};
use crate::schema;
use crate::source::Place;
use crate::template::{self, Bindings};
use crate::toggle::{self, Setting, Toggle};
use crate::tree::{Node, Table, Value};
use std::collections::BTreeMap;

/// A plan with everything needed to build it for any row and variant.
#[derive(Clone, Debug)]
pub struct Experiment {
    document: Document,
    rows: Vec<Row>,
    variants: Vec<Variant>,
    toggles: Vec<Toggle>,
    parameters: Vec<Parameter>,
    published: Option<Published>,
    /// Values of a sweep's variables: those used as `{name}` and those that are dotted keys.
    first_values: Vec<(String, Node)>,
}

/// `[published]`: where the figures come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Published {
    /// The document.
    pub source: String,
    /// Where in it.
    pub section: Option<String>,
    /// The file that holds its numbers.
    pub table: Option<String>,
    /// What a reader should know.
    pub note: Option<String>,
}

/// `[lab.parameters.NAME]`: a physical parameter, fixed once for all rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its name, used as `{name}` in the plan.
    pub name: String,
    /// Its value.
    pub value: Scalar,
    /// The unit of a number; text carries its own.
    pub unit: Option<String>,
    /// Where the value comes from.
    pub origin: String,
}

/// A number or a text, or a list of texts of which every table with a `count` takes one.
#[derive(Clone, PartialEq, Debug)]
pub enum Scalar {
    /// A number.
    Number(f64),
    /// A text, such as a quantity with its unit.
    Text(String),
    /// Texts.
    List(Vec<String>),
}

#[derive(Clone, Debug)]
struct Variant {
    name: String,
    changes: Vec<(Address, Node)>,
}

/// What a plan is to be used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Nothing in particular: it is in order.
    Any,
    /// A run in virtual time: something flows in every row and variant.
    Lab,
}

impl Document {
    /// The rows, variants, figures and parameters of the plan.
    ///
    /// # Errors
    /// What is wrong with these; the plans themselves are checked when they are built.
    pub fn experiment(&self) -> Result<Experiment, Diagnostics> {
        let (experiment, problems) = Experiment::read(self);
        problems.result(experiment, &self.sources)
    }

    /// Everything that is wrong in any row and variant; empty when nothing is.
    pub fn check(&self) -> Diagnostics {
        self.check_for(Purpose::Any)
    }

    /// The same, and what keeps a plan in order from serving its purpose.
    pub fn check_for(&self, purpose: Purpose) -> Diagnostics {
        let (experiment, problems) = Experiment::read(self);
        let mut diagnostics = problems.finish(&self.sources, None);
        diagnostics.extend(experiment.check(purpose));
        diagnostics
    }
}

impl Experiment {
    /// What a document holds, and what is wrong with it beside its plans.
    pub(crate) fn read(document: &Document) -> (Experiment, Problems) {
        let mut problems = Problems::default();
        let root = &document.root;
        let empty = Table::default();
        let mut top = Section::new(root, document.place, "");
        let mut lab = Section::new(root.table("lab").unwrap_or(&empty), document.place, "lab");
        let published =
            top.section(&mut problems, "published").and_then(|s| published(s, &mut problems));
        let first_values = match top.section(&mut problems, "sweep") {
            Some(section) => sweep(section, &mut problems),
            None => Vec::new(),
        };
        let parameters = match lab.section(&mut problems, "parameters") {
            Some(section) => section.named(&mut problems),
            None => Vec::new(),
        };
        let parameters = parameters
            .into_iter()
            .filter_map(|(name, s)| parameter(name, s, &mut problems))
            .collect();
        let filters = filters(document);
        let section = lab.section(&mut problems, "rows");
        let rows = rows::rows(section, &document.files, &filters, &mut problems);
        let variants = match lab.section(&mut problems, "variant") {
            Some(section) => section.named(&mut problems),
            None => Vec::new(),
        };
        let variants = variants.into_iter().map(|(name, s)| {
            reader::check_name(&name, &s, &mut problems);
            Variant { name, changes: overlay::leaves(s.table(), &document.sources) }
        });
        let variants = variants.collect();
        let section = lab.section(&mut problems, "toggle");
        let toggles = toggle::toggles(section, &document.sources, &mut problems);
        let document = document.clone();
        let experiment =
            Experiment { document, rows, variants, toggles, parameters, published, first_values };
        experiment.check_names(&mut problems);
        (experiment, problems)
    }

    /// The rows; a plan without a table of rows has one without values.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The names of the variants, in the order written.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        self.variants.iter().map(|v| v.name.as_str())
    }

    /// The features that can be on or off, in the order written.
    pub fn toggles(&self) -> &[Toggle] {
        &self.toggles
    }

    /// The parameters, in the order written.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Where the published figures come from.
    pub fn published(&self) -> Option<&Published> {
        self.published.as_ref()
    }

    /// The plan of one row in one variant; `None` is the plan as it stands.
    ///
    /// # Errors
    /// Everything that is wrong with it. A row or variant that does not exist is told too.
    pub fn plan(&self, row: usize, variant: Option<&str>) -> Result<Plan, Diagnostics> {
        self.plan_with(row, variant, &[])
    }

    /// The same with features on or off, by their positions among [`Experiment::toggles`]; the others are as
    /// the plan has them.
    ///
    /// # Errors
    /// As [`Experiment::plan`].
    pub fn plan_with(
        &self,
        row: usize,
        variant: Option<&str>,
        settings: &[(usize, Setting)],
    ) -> Result<Plan, Diagnostics> {
        let mut problems = Problems::default();
        let plan = self.build(row, variant, settings, &mut problems);
        let diagnostics = problems.finish(&self.document.sources, None);
        match plan {
            Some(plan) => diagnostics.or(plan),
            None => Err(diagnostics),
        }
    }

    /// The figures of one row, without those whose `where` it does not fit.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn figures(&self, row: usize) -> Result<Vec<Figure>, Diagnostics> {
        let mut problems = Problems::default();
        let figures = self.figures_of(row, &mut problems);
        problems.result(figures, &self.document.sources)
    }

    /// Everything that is wrong in any row and variant, each error once.
    fn check(&self, purpose: Purpose) -> Diagnostics {
        let variants: Vec<Option<&str>> = match self.variants.is_empty() {
            true => vec![None],
            false => self.variants.iter().map(|v| Some(v.name.as_str())).collect(),
        };
        let mut ids: BTreeMap<String, (usize, Place)> = BTreeMap::new();
        let mut seen: Vec<(Diagnostic, usize)> = Vec::new();
        let mut left_out = 0;
        for row in 0..self.rows.len() {
            for variant in &variants {
                let mut problems = Problems::default();
                let plan = self.build(row, *variant, &[], &mut problems);
                let figures = self.figures_of(row, &mut problems);
                if purpose == Purpose::Lab && plan.as_ref().is_some_and(|p| p.lab.flows.is_empty())
                {
                    problems.push(self.no_flow());
                }
                for figure in &figures {
                    if let Some(plan) = &plan {
                        figure::check_metrics(figure, plan, *variant, &mut problems);
                    }
                    let own = (row, figure.place);
                    if figure.knee.is_none() && *ids.entry(figure.id.clone()).or_insert(own) != own
                    {
                        problems.push(figure::same_id(figure));
                    }
                }
                let context = self.context(row, *variant);
                let found = problems.finish(&self.document.sources, Some(&context));
                left_out = left_out.max(found.left_out);
                for error in found.errors {
                    let same = |d: &Diagnostic| d.span == error.span && d.message == error.message;
                    match seen.iter_mut().find(|(d, _)| d.source == error.source && same(d)) {
                        Some((_, count)) => *count += 1,
                        None => seen.push((error, 1)),
                    }
                }
            }
        }
        let everywhere = self.rows.len() * variants.len();
        self.check_toggles(&mut seen);
        let errors = seen.into_iter().map(|(mut error, count)| {
            error.context = error.context.filter(|_| count < everywhere);
            error
        });
        let mut diagnostics = Diagnostics::default();
        diagnostics.extend(Diagnostics { errors: errors.collect(), left_out });
        diagnostics
    }

    /// Errors of the first row and variant with every feature off, and with every feature on.
    fn check_toggles(&self, seen: &mut Vec<(Diagnostic, usize)>) {
        if self.toggles.is_empty() || self.rows.is_empty() || !seen.is_empty() {
            return;
        }
        let variant = self.variants.first().map(|variant| variant.name.as_str());
        for (setting, context) in
            [(Setting::Off, "every toggle off"), (Setting::On, "every toggle on")]
        {
            let settings: Vec<_> =
                (0..self.toggles.len()).map(|toggle| (toggle, setting)).collect();
            let mut problems = Problems::default();
            self.build(0, variant, &settings, &mut problems);
            let found = problems.finish(&self.document.sources, Some(context));
            seen.extend(found.errors.into_iter().map(|error| (error, 0)));
        }
    }

    /// A run of this plan would have nothing to show.
    fn no_flow(&self) -> Problem {
        let place = self.document.root.entry("lab").map_or(self.document.place, |e| e.place);
        let problem = Problem::new(place, "lab.flow", "the plan has no [[lab.flow]]");
        problem.accepted(["[[lab.flow]] with name, from, to and app"])
    }

    fn context(&self, row: usize, variant: Option<&str>) -> String {
        let row = self.rows.get(row).filter(|r| !r.values.is_empty());
        let row = row.map(|r| format!("row {}", r.label()));
        let variant = variant.map(|v| format!("variant {v}"));
        row.into_iter().chain(variant).collect::<Vec<_>>().join(", ")
    }

    /// A name means one thing in a template.
    fn check_names(&self, problems: &mut Problems) {
        let vars = self.first_values.iter().map(|(name, _)| name.as_str());
        let given: Vec<&str> =
            self.parameters.iter().map(|p| p.name.as_str()).chain(vars).collect();
        let Some(row) = self.rows.first() else { return };
        for (key, node) in row.values.iter().filter(|(key, _)| given.contains(&key.as_str())) {
            let message =
                format!("`{key}` is both a value of the rows and a parameter or variable");
            let problem = Problem::new(node.place, format!("lab.rows.{key}"), message);
            problems.push(problem.found(key).accepted(["a name of its own"]));
        }
    }

    fn build(
        &self,
        row: usize,
        variant: Option<&str>,
        settings: &[(usize, Setting)],
        problems: &mut Problems,
    ) -> Option<Plan> {
        let place = self.document.place;
        let Some(values) = self.rows.get(row) else {
            problems.push(Problem::new(place, "lab.rows", format!("there is no row {row}")));
            return None;
        };
        let mut tree = self.document.root.clone();
        self.overlay(&mut tree, variant, settings, problems);
        let bindings = self.bindings(&tree, values);
        strip(&mut tree);
        self.choose_expectations(&mut tree, variant, &bindings, problems);
        let filled = template::fill(&tree, &bindings, problems);
        let faults = problems.places();
        let plan = schema::plan(&filled, place, problems);
        problems.drop_after(&faults);
        plan
    }

    fn figures_of(&self, row: usize, problems: &mut Problems) -> Vec<Figure> {
        let Some(row) = self.rows.get(row) else {
            return Vec::new();
        };
        let root = &self.document.root;
        let variants: Vec<&str> = self.variants().collect();
        figure::figures(root, &variants, &self.bindings(root, row), problems)
    }

    /// Lays the sweep's first values, the variant, the features' settings and what `--set` said over the
    /// plan, in this order.
    fn overlay(
        &self,
        tree: &mut Table,
        variant: Option<&str>,
        settings: &[(usize, Setting)],
        problems: &mut Problems,
    ) {
        let dotted = self.first_values.iter().filter(|(key, _)| key.contains('.'));
        let dotted: Vec<(Address, Node)> = dotted
            .map(|(key, node)| (Address { text: key.clone(), place: node.place }, node.clone()))
            .collect();
        let changes = match variant {
            None => &[],
            Some(name) => match self.variants.iter().find(|v| v.name == name) {
                Some(variant) => variant.changes.as_slice(),
                None => {
                    let names: Vec<&str> = self.variants().collect();
                    let message = format!("there is no variant `{name}`");
                    let problem = Problem::new(self.document.place, "lab.variant", message);
                    problems.push(problem.names(name, &names));
                    &[]
                }
            },
        };
        let toggled = settings.iter().flat_map(|(toggle, setting)| {
            self.toggles.get(*toggle).map_or(&[][..], |toggle| toggle.changes(*setting))
        });
        let laid = dotted.iter().chain(changes).chain(toggled).chain(&self.document.sets);
        for (address, node) in laid {
            if let Err(problem) = overlay::set(tree, address, node) {
                problems.push(*problem);
            }
        }
    }

    /// What a template may name in a row: parameters, variables of a sweep, values of the row.
    fn bindings(&self, tree: &Table, row: &Row) -> Bindings {
        let mut bindings = Bindings::default();
        let parameters = tree.table("lab").and_then(|t| t.table("parameters"));
        for entry in parameters.map(|t| t.entries.as_slice()).unwrap_or_default() {
            if let Some(value) = entry.node.as_table().and_then(|t| t.node("value")) {
                bindings.bind(&entry.key, value.clone());
            }
        }
        for (name, node) in self.first_values.iter().chain(&row.values) {
            bindings.bind(name, node.clone());
        }
        bindings
    }

    /// Leaves the expectations that hold for this row and variant.
    fn choose_expectations(
        &self,
        tree: &mut Table,
        variant: Option<&str>,
        bindings: &Bindings,
        problems: &mut Problems,
    ) {
        let lab = tree.node_mut("lab").map(|n| &mut n.value);
        let Some(Value::Table(lab)) = lab else { return };
        let Some(Node { value: Value::Array(nodes), .. }) = lab.node_mut("expect") else {
            return;
        };
        nodes.retain(|node| {
            let Some(table) = node.as_table() else {
                return true;
            };
            let in_variant = match table.node("variant") {
                Some(node) => self.names_variant(node, variant, problems),
                None => true,
            };
            in_variant
                && rows::fits_row(table.node("where"), "lab.expect.where", bindings, problems)
        });
    }

    /// Whether a `variant` key names this one.
    fn names_variant(&self, node: &Node, variant: Option<&str>, problems: &mut Problems) -> bool {
        let names: Vec<&str> = self.variants().collect();
        let written = node.as_text().unwrap_or_default();
        if !names.contains(&written) {
            let message = format!("there is no variant `{written}`");
            problems.push(
                Problem::new(node.place, "lab.expect.variant", message).names(written, &names),
            );
        }
        variant == Some(written)
    }
}

/// The filters of expectations and figures; none once `--set` has put other rows in the place of the plan's.
fn filters(document: &Document) -> Vec<rows::Filter<'_>> {
    let lab = document.root.table("lab");
    if document.sets.iter().any(|(address, _)| address.text.starts_with("lab.rows")) {
        return Vec::new();
    }
    let of = |key: &'static str| {
        let nodes = lab.and_then(|lab| lab.node(key)).and_then(Node::as_array);
        let tables = nodes.into_iter().flatten().filter_map(Node::as_table);
        let filters = tables.filter_map(|table| table.node("where"));
        filters.map(move |filter| (filter, format!("lab.{key}.where")))
    };
    of("expect").chain(of("figure")).collect()
}

/// Takes away what is no part of a single plan.
fn strip(tree: &mut Table) {
    for key in schema::EXPERIMENT_KEYS {
        tree.remove(key);
    }
    if let Some(Node { value: Value::Table(lab), .. }) = tree.node_mut("lab") {
        for key in schema::EXPERIMENT_LAB_KEYS {
            lab.remove(key);
        }
    }
}

fn published(mut s: Section<'_>, problems: &mut Problems) -> Option<Published> {
    let source = s.req(problems, "source", "\"…\"", reader::text);
    let section = s.opt(problems, "section", reader::text);
    let table = s.opt(problems, "table", reader::text);
    let note = s.opt(problems, "note", reader::text);
    s.finish(problems);
    Some(Published { source: source?, section, table, note })
}

fn parameter(name: String, mut s: Section<'_>, problems: &mut Problems) -> Option<Parameter> {
    reader::check_name(&name, &s, problems);
    let value = s.req(problems, "value", "4.8", scalar);
    let unit = s.opt(problems, "unit", reader::text);
    let origin = s.req(problems, "origin", "\"measured, fitted on …, assumed\"", reader::text);
    if matches!(value, Some(Scalar::Number(_))) && unit.is_none() {
        let problem =
            Problem::new(s.place, s.key("unit"), format!("parameter `{name}` has no unit"));
        problems.push(problem.accepted(["unit = \"s\"", "unit = \"1\" for a plain number"]));
    }
    s.finish(problems);
    Some(Parameter { name, value: value?, unit, origin: origin? })
}

fn scalar(node: &Node) -> Taken<Scalar> {
    match (node.as_text(), node.as_array()) {
        (Some(text), _) => Ok(Scalar::Text(text.to_owned())),
        (None, Some(list)) => list.iter().map(reader::text).collect::<Taken<_>>().map(Scalar::List),
        (None, None) => reader::number(node).map(Scalar::Number),
    }
}

fn sweep(mut s: Section<'_>, problems: &mut Problems) -> Vec<(String, Node)> {
    let zip = s.node("zip");
    let vars = s.node("vars");
    s.finish(problems);
    vars.map(|vars| rows::first_values(vars, zip, problems)).unwrap_or_default()
}
