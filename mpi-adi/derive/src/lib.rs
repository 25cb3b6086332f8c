//! `#[derive(Equivalence)]`: the datatype of a struct (MPI-3.1 section 4.1.2, MPI_Type_create_struct).
//!
//! Rust requires a separate crate for derive macros. Programs use the documented re-export in the crate `mpi`.
#![forbid(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Index, LitStr, Member, Path, Result, parse_quote};

/// Derives `Equivalence` for a struct of numbers, `bool`, structs with `Equivalence`, and arrays and tuples of these.
/// `#[mpi(crate = "path")]` specifies the path of the crate `mpi`; the default is `::mpi`.
#[proc_macro_derive(Equivalence, attributes(mpi))]
pub fn equivalence(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let derived = derive(&input).unwrap_or_else(|error| error.to_compile_error());
    derived.into()
}

fn path_of_mpi(input: &DeriveInput) -> Result<Path> {
    let mut path = parse_quote!(::mpi);
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("mpi")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the only option is `crate = \"path\"`"));
            }
            path = meta.value()?.parse::<LitStr>()?.parse()?;
            Ok(())
        })?;
    }
    Ok(path)
}

fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        let why = "Equivalence is derived for structs: not every pattern of bytes is a value of an enum or a union";
        return Err(Error::new_spanned(&input.ident, why));
    };
    if !input.generics.params.is_empty() {
        let why = "Equivalence is derived for structs without parameters: each has one datatype";
        return Err(Error::new_spanned(&input.generics, why));
    }
    let (mpi, name) = (path_of_mpi(input)?, &input.ident);
    let fields: Vec<(Member, &syn::Type)> = data
        .fields
        .iter()
        .enumerate()
        .map(|(at, field)| {
            let index = || Member::Unnamed(Index::from(at));
            let member = field.ident.clone().map_or_else(index, Member::Named);
            (member, &field.ty)
        })
        .collect();
    let parts = fields.iter().map(|(member, of)| {
        quote_spanned! { of.span() =>
            (
                ::core::mem::offset_of!(#name, #member),
                <#of as #mpi::datatype::Field>::datatype,
            )
        }
    });
    let normalized = fields.iter().map(|(member, of)| {
        quote! { <#of as #mpi::datatype::Field>::normalize_field(&raw mut (*at).#member); }
    });
    Ok(quote! {
        // SAFETY: the datatype contains each field at its offset, and its extent is the struct's size; `normalize` makes a
        // valid value of each field.
        #[automatically_derived]
        unsafe impl #mpi::datatype::Equivalence for #name {
            type Out = #mpi::datatype::DatatypeRef<'static>;

            fn equivalent_datatype() -> Self::Out {
                static DATATYPE: #mpi::datatype::LazyDatatype = #mpi::datatype::LazyDatatype::new();
                DATATYPE.get(|| {
                    #mpi::datatype::of_fields(::core::mem::size_of::<#name>(), &[#(#parts),*])
                })
            }

            unsafe fn normalize(at: *mut Self, count: usize) {
                for i in 0..count {
                    // SAFETY: the caller guarantees it.
                    unsafe {
                        let at = at.add(i);
                        let _ = at;
                        #(#normalized)*
                    }
                }
            }
        }
    })
}
