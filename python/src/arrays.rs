//! NumPy arrays: columns of the spheres, lists of contacts and impacts, and checks of arrays from Python.

use carom::{Contact, Impact, Partner};
use glam::DVec3;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyList, PyString},
};

use crate::errors::invalid;

/// An array that cannot be written: a change of it would not reach the simulation.
pub fn read_only<'py>(array: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}

/// An array of shape (N, 3) that takes the memory of `rows`.
pub fn matrix<'py>(py: Python<'py>, rows: Vec<[f64; 3]>) -> PyResult<Bound<'py, PyAny>> {
    let count = rows.len();
    let flat = PyArray1::from_vec(py, rows.into_flattened());
    read_only(flat.reshape([count, 3])?.into_any())
}

/// An array of shape (N,) that takes the memory of `values`.
pub fn column<'py, T: Element>(py: Python<'py>, values: Vec<T>) -> PyResult<Bound<'py, PyAny>> {
    read_only(PyArray1::from_vec(py, values).into_any())
}

// The values of an array as float64 in C order, if dtype and shape are right.
fn checked<'py>(
    name: &str,
    value: &Bound<'py, PyAny>,
    shape: &[usize],
    what: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let numpy = py.import("numpy")?;
    let array = numpy
        .call_method1("asarray", (value,))
        .map_err(|error| invalid(py, format!("{name} is not an array: {}", error.value(py))))?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let is_number = matches!(kind.as_str(), "i" | "u" | "f");
    if !is_number || !numpy.call_method1("can_cast", (&dtype, "float64", "safe"))?.extract::<bool>()? {
        return Err(PyTypeError::new_err(format!(
            "{name} has the dtype {dtype}; expected float64, or real numbers that it holds exactly"
        )));
    }
    let found: Vec<usize> = array.getattr("shape")?.extract()?;
    if found != shape {
        let text = |shape: &[usize]| match shape {
            [n] => format!("({n},)"),
            _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        let (found, shape) = (text(&found), text(shape));
        return Err(invalid(py, format!("{name} has the shape {found}; expected {shape}{what}")));
    }
    numpy.call_method1("ascontiguousarray", (array, "float64"))
}

const EACH: &str = ", one row for each sphere in the order of ids";

/// Rows of an array of shape (`count`, 3) with finite numbers.
pub fn rows(name: &str, value: &Bound<PyAny>, count: usize) -> PyResult<Vec<DVec3>> {
    let array = checked(name, value, &[count, 3], EACH)?;
    let array = array.cast::<PyArray2<f64>>()?.readonly();
    let values = array.as_slice()?;
    if let Some(at) = values.iter().position(|v| !v.is_finite()) {
        let (row, axis, found) = (at / 3, at % 3, values[at]);
        return Err(invalid(
            value.py(),
            format!("{name}[{row}, {axis}] is {found}; expected a finite number"),
        ));
    }
    Ok(values.as_chunks::<3>().0.iter().map(|row| DVec3::from_array(*row)).collect())
}

/// Values of an array of shape (`count`,) with finite numbers.
pub fn values(name: &str, value: &Bound<PyAny>, count: usize) -> PyResult<Vec<f64>> {
    let array = checked(name, value, &[count], EACH)?;
    finite(name, &array)
}

/// A vector of three finite numbers.
pub fn vector(name: &str, value: &Bound<PyAny>) -> PyResult<DVec3> {
    let array = checked(name, value, &[3], "")?;
    let values = finite(name, &array)?;
    Ok(DVec3::from_slice(&values))
}

fn finite(name: &str, array: &Bound<PyAny>) -> PyResult<Vec<f64>> {
    let readonly = array.cast::<PyArray1<f64>>()?.readonly();
    let values = readonly.as_slice()?.to_vec();
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => {
            let found = values[at];
            Err(invalid(array.py(), format!("{name}[{at}] is {found}; expected a finite number")))
        }
        None => Ok(values),
    }
}

// Records of one structured dtype, byte by byte.
struct Records {
    bytes: Vec<u8>,
    fields: &'static [(&'static str, &'static str, usize)],
}

impl Records {
    fn new(fields: &'static [(&'static str, &'static str, usize)]) -> Self {
        Self { bytes: vec![], fields }
    }

    fn vector(&mut self, vector: DVec3) {
        vector.to_array().into_iter().for_each(|value| self.real(value));
    }

    fn real(&mut self, value: f64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn sides(&mut self, sphere: u32, partner: Partner) {
        let (partner, is_wall) = match partner {
            Partner::Sphere(id) => (id, 0),
            Partner::Wall(index) => (index, 1),
        };
        self.bytes.extend_from_slice(&sphere.to_le_bytes());
        self.bytes.extend_from_slice(&partner.to_le_bytes());
        self.bytes.push(is_wall);
    }

    fn array<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields = PyList::empty(py);
        for (name, dtype, count) in self.fields {
            let name = PyString::new(py, name);
            match count {
                1 => fields.append((name, dtype))?,
                _ => fields.append((name, dtype, (*count,)))?,
            }
        }
        let dtype = py.import("numpy")?.call_method1("dtype", (fields,))?;
        read_only(PyArray1::from_vec(py, self.bytes).call_method1("view", (dtype,))?)
    }
}

/// A structured array of contacts.
pub fn contacts<'py>(py: Python<'py>, contacts: &[Contact]) -> PyResult<Bound<'py, PyAny>> {
    let mut records = Records::new(&[
        ("sphere", "<u4", 1),
        ("partner", "<u4", 1),
        ("is_wall", "?", 1),
        ("point", "<f8", 3),
        ("normal", "<f8", 3),
        ("branch", "<f8", 3),
        ("gap", "<f8", 1),
        ("force", "<f8", 3),
        ("torque", "<f8", 3),
    ]);
    for contact in contacts {
        records.sides(contact.sphere, contact.partner);
        records.vector(contact.point);
        records.vector(contact.normal);
        records.vector(contact.branch);
        records.real(contact.gap);
        records.vector(contact.force);
        records.vector(contact.torque);
    }
    records.array(py)
}

/// A structured array of impacts.
pub fn impacts<'py>(py: Python<'py>, impacts: &[Impact]) -> PyResult<Bound<'py, PyAny>> {
    let mut records = Records::new(&[
        ("sphere", "<u4", 1),
        ("partner", "<u4", 1),
        ("is_wall", "?", 1),
        ("time", "<f8", 1),
        ("point", "<f8", 3),
        ("normal", "<f8", 3),
        ("impulse", "<f8", 1),
    ]);
    for impact in impacts {
        records.sides(impact.sphere, impact.partner);
        records.real(impact.time);
        records.vector(impact.point);
        records.vector(impact.normal);
        records.real(impact.impulse);
    }
    records.array(py)
}
